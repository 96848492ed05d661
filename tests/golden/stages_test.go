package golden

import (
	"fmt"
	"strings"

	"healc/codegen/llvm"
	"healc/internal/engine"
	"healc/internal/pipeline"
	"healc/ir"
	"healc/ir/kernel"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/passes"
	"healc/passes/shard"
)

// run does the stage once, from the text of the input on.
func (j *job) run() (output, error) {
	file := diag.NewFile(j.name, j.input)
	if j.stage == "check" {
		prog, err := pipeline.Check(file)
		if err != nil {
			return output{}, err
		}
		var b strings.Builder
		err = tree.Dump(&b, prog)
		return output{text: b.String()}, err
	}
	var remarks strings.Builder
	opts := engine.Options{Debug: pipeline.Debug{Passes: &passes.Options{VerifyEach: true, Out: &remarks}}}
	if j.remarks {
		opts.Debug.Passes.Remarks = []string{"all"}
	}
	if j.stage == "checkpoints" {
		opts.Checkpoints = &pipeline.Checkpoints{Entry: j.entry, Every: 10}
	}
	m, err := j.module(file, opts)
	if err != nil {
		return output{}, err
	}
	defer m.Close()
	if name, ok := strings.CutPrefix(j.stage, "passes/"); ok {
		pass, err := j.pass(name)
		if err != nil {
			return output{}, err
		}
		err = passes.Run(m.IR(), []passes.Pass{pass}, *opts.Debug.Passes)
		return output{m.IR().String(), remarks.String()}, err
	}
	switch j.stage {
	case "shard": // the program of the second of three ranks
		o := *opts.Debug.Passes
		o.StopAfter = "shard"
		err = passes.Run(m.IR(), passes.Distributed(j.entry, j.bind, shard.Ranks{Rank: 1, Size: 3}), o)
		return output{m.IR().String(), remarks.String()}, err
	case "checkpoints": // the program whose loops keep their states
		return output{text: m.IR().String()}, ir.Verify(m.IR())
	case "irgen":
		return output{text: m.IR().String()}, ir.Verify(m.IR())
	case "fuse":
		fused, err := m.Fused(j.entry, j.bind)
		if err != nil {
			return output{}, err
		}
		return output{fused.String(), remarks.String()}, nil
	case "kernels", "llvm":
		km, err := m.Kernels(j.entry, j.bind, nil)
		if err != nil {
			return output{}, err
		}
		if err := kernel.Verify(km); err != nil {
			return output{}, err
		}
		if j.stage == "llvm" {
			text, err := llvm.Generate(km, llvm.Options{})
			return output{text, remarks.String()}, err
		}
		var b strings.Builder
		err = kernel.Print(&b, km)
		return output{b.String(), remarks.String()}, err
	}
	return output{}, fmt.Errorf("there is no stage %q", j.stage)
}

// module reads the input, a source or IR text.
func (j *job) module(file *diag.File, opts engine.Options) (*engine.Module, error) {
	opts.Threads = 1
	if j.name == "in.heal" {
		return engine.CompileFile(file, opts)
	}
	m, list := ir.Parse(file)
	if err := list.Err(); err != nil {
		return nil, err
	}
	if text := m.String(); text != j.input {
		return nil, fmt.Errorf("in.ir is not as it would be printed:\n%s", diff(j.input, text))
	}
	return engine.CompileIR(m, opts)
}

// pass finds a pass as the compiler's pipeline has it, for the entry and the bindings of the job.
func (j *job) pass(name string) (passes.Pass, error) {
	for _, list := range [][]passes.Pass{passes.Standard(j.entry, j.bind), passes.All()} {
		for _, p := range list {
			if p.Name == name {
				return p, nil
			}
		}
	}
	return passes.Pass{}, fmt.Errorf("there is no pass %q for entry %q", name, j.entry)
}

// roundTrip parses text, where the stage's text has a parser, and requires that it prints as before.
func roundTrip(stage, text string) error {
	file := diag.NewFile("printed", text)
	var again string
	switch {
	case stage == "irgen", stage == "checkpoints", stage == "fuse", stage == "shard",
		strings.HasPrefix(stage, "passes/"):
		m, list := ir.Parse(file)
		if err := list.Err(); err != nil {
			return fmt.Errorf("the printed IR does not parse: %w", err)
		}
		if err := ir.Verify(m); err != nil {
			return fmt.Errorf("the printed IR does not verify: %w", err)
		}
		again = m.String()
	case stage == "kernels":
		m, list := kernel.Parse(file)
		if err := list.Err(); err != nil {
			return fmt.Errorf("the printed kernels do not parse: %w", err)
		}
		if err := kernel.Verify(m); err != nil {
			return fmt.Errorf("the printed kernels do not verify: %w", err)
		}
		// The plan is printed as comments and not parsed, so that it is compared no further.
		var b strings.Builder
		if err := kernel.Print(&b, m); err != nil {
			return err
		}
		again, text = b.String(), withoutPlan(text)
		again = withoutPlan(again)
	default:
		return nil
	}
	if again != text {
		return fmt.Errorf("printing what was parsed gives other text: %s", diff(text, again))
	}
	return nil
}

// withoutPlan drops the comment lines of kernel text, and the blank lines before them.
func withoutPlan(text string) string {
	var keep []string
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(strings.TrimSpace(line), "//") {
			keep = append(keep, line)
		}
	}
	return strings.TrimRight(strings.Join(keep, "\n"), "\n")
}
