package explore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"healc/codegen"
	"healc/codegen/gpu"
	"healc/codegen/llvm"
	"healc/codegen/llvm/libllvm"
	"healc/codegen/target"
	"healc/codegen/target/tuned"
	"healc/internal/backend"
	"healc/ir/kernel"
	"healc/ir/kernel/transform"
	"healc/lang/diag"
	"healc/runtime/abi"
)

// code has the listings of one kernel.
type code struct{ generated, optimised, machine []diag.Placed }

// alone is a module of one kernel, and the plan that launches it.
func alone(km *kernel.Module, k *kernel.Kernel) *kernel.Module {
	out := *km
	out.Kernels = []*kernel.Kernel{k}
	plan := &abi.Program{Name: k.Name, Dims: km.Plan.Dims}
	transform.Launches(km.Plan, func(l *abi.Launch) {
		if l.Kernel == k.Name && len(plan.Funcs) == 0 {
			launch := *l
			launch.Args, launch.Edges = nil, nil
			plan.Funcs = []*abi.Function{{Steps: []abi.Step{{Launch: &launch}}}}
		}
	})
	out.Plan = plan
	return &out
}

// list makes the code of a kernel of a module, as it would be made to run.
func list(km *kernel.Module, k *kernel.Kernel, t codegen.Target, sets map[string]tuned.Set) (code, error) {
	places := &kernel.Places{}
	one := alone(km, k)
	compile := func(out libllvm.Output) ([]byte, error) {
		if t.Kind == backend.GPU {
			return gpu.CompileWith(one, t, out, gpu.Options{Places: places})
		}
		return llvm.CompileWith(one, t, out, llvm.Options{Places: places, Tuned: sets})
	}
	var c code
	var err error
	var generated string
	if t.Kind == backend.GPU {
		generated, err = gpu.GenerateWith(one, t.CPU, places)
	} else {
		generated, err = llvm.Generate(one, llvm.Options{Places: places, Tuned: sets, Machine: target.MachineOf(t)})
	}
	if err != nil {
		return c, err
	}
	c.generated = linesOfIR(generated, places)
	optimised, err := compile(libllvm.IR)
	if err != nil {
		return c, err
	}
	c.optimised = linesOfIR(string(optimised), places)
	machine, err := compile(libllvm.Assembly)
	if err != nil {
		return c, err
	}
	c.machine = linesOfAssembly(string(machine), places, t.Kind == backend.GPU)
	return c, nil
}

// linesOfIR are the functions of a module of LLVM IR, with the places that its debugging information has.
func linesOfIR(text string, places *kernel.Places) []diag.Placed {
	const mark, location = "!dbg !", "!DILocation(line: "
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	at := map[string]diag.Span{}
	for _, l := range lines {
		id, node, ok := strings.Cut(l, " = ")
		if _, fields, found := strings.Cut(node, location); ok && found && strings.HasPrefix(id, "!") {
			n, _ := strconv.Atoi(fields[:max(strings.IndexFunc(fields, noDigit), 0)])
			at[id[1:]] = places.At(n)
		}
	}
	var out []diag.Placed
	inside := false
	for _, l := range lines {
		body, rest, marked := strings.Cut(l, mark)
		var spans []diag.Span
		if marked {
			end := strings.IndexFunc(rest, noDigit)
			if end < 0 {
				end = len(rest)
			}
			if place := at[rest[:end]]; place.Valid() && inside {
				spans = append(spans, place)
			}
			l = strings.TrimRight(strings.TrimRight(body, " "), ",") + rest[end:]
		}
		switch {
		case strings.HasPrefix(l, "define "):
			inside = true
		case !inside:
			continue
		case strings.Contains(l, "@llvm.dbg.") || strings.HasPrefix(strings.TrimSpace(l), "#dbg_"):
			continue
		}
		out = append(out, diag.Placed{Text: l, At: spans})
		if l == "}" {
			inside = false
		}
	}
	return out
}

func noDigit(r rune) bool { return r < '0' || r > '9' }

// linesOfAssembly are the instructions and labels of an assembly, with the places that its `.loc` directives have.
// Other directives say nothing about what runs, but for those that declare a function of PTX and its registers.
func linesOfAssembly(text string, places *kernel.Places, ptx bool) []diag.Placed {
	var out []diag.Placed
	var now []diag.Span
	inside := !ptx
	for _, l := range strings.Split(text, "\n") {
		words := strings.Fields(l)
		if len(words) == 0 {
			continue
		}
		switch first := words[0]; {
		case first == ".loc":
			if now = nil; len(words) > 2 {
				n, _ := strconv.Atoi(words[2])
				if at := places.At(n); at.Valid() {
					now = []diag.Span{at}
				}
			}
			continue
		case ptx && (first == ".visible" || first == ".entry" || first == ".func"):
			inside, now = true, nil
		case !inside || strings.HasPrefix(first, "//") || first[0] == '#':
			continue
		case first[0] == '.' && !strings.HasSuffix(first, ":"):
			if !ptx || !slices.Contains([]string{".reg", ".param", ".shared", ".local", ".extern"}, first) {
				continue
			}
		case strings.HasSuffix(first, ":"):
			if label := strings.TrimLeft(first, ".$L_"); strings.HasPrefix(label, "tmp") ||
				strings.HasPrefix(label, "func_") || strings.HasPrefix(label, "CPI") {
				continue
			}
			out = append(out, diag.Placed{Text: first})
			continue
		}
		if ptx && strings.HasPrefix(words[0], ".section") {
			break
		}
		name, operands, _ := strings.Cut(strings.TrimSpace(l), "\t")
		text := strings.TrimRight(fmt.Sprintf("    %-10s %s", name, operands), " ")
		out = append(out, diag.Placed{Text: text, At: now})
	}
	return out
}
