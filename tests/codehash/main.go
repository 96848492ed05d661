// Codehash prints a hash of the code that is generated for each kernel program of the repository, for several
// processors and efforts and for devices: a refactoring of code generation leaves all of them as they are.
//
//	go run ./tests/codehash > before        # at the old commit
//	go run ./tests/codehash > after         # with the change
//	diff before after
//
// A line is the hash, the place where the program stands, the entry and the shapes. What is hashed is the text of LLVM
// IR before any of LLVM's passes, and the plan with what code generation says of its launches. With -dir the texts are
// written there, too, one file a line, so that two of them can be compared.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/txtar"

	"healc/codegen"
	"healc/codegen/gpu"
	"healc/codegen/llvm"
	"healc/codegen/target"
	"healc/internal/engine"
	"healc/ir"
	"healc/ir/kernel"
	"healc/lang/diag"
	"healc/runtime/abi"
)

// source is a program: in the language, as tensor IR or as kernels, by the ending of its name.
type source struct{ name, text string }

// variants are the targets and efforts for which code is made.
var variants = []struct {
	target codegen.Target
	effort llvm.Effort
}{
	{codegen.Target{Triple: "x86_64-linux-gnu", CPU: "znver4"}, llvm.Full},
	{codegen.Target{Triple: "x86_64-linux-gnu", CPU: "icelake-client"}, llvm.Full},
	{codegen.Target{Triple: "x86_64-linux-gnu", CPU: "x86-64-v3"}, llvm.Full},
	{codegen.Target{Triple: "x86_64-linux-gnu", CPU: "x86-64-v3"}, llvm.Quick},
	{codegen.Target{Triple: "x86_64-linux-gnu", CPU: "x86-64-v3"}, llvm.Least},
	{codegen.Target{Triple: "x86_64-linux-gnu", CPU: "x86-64"}, llvm.Full},
	{codegen.Target{Triple: "x86_64-linux-gnu", CPU: "icelake-client/x86-64-v3"}, llvm.Full},
	{codegen.Target{Triple: "aarch64-linux-gnu", CPU: "generic"}, llvm.Full},
}

// extents are given to the shape parameters of a program, in turns; 0 leaves them free.
var extents = []int64{0, 67, 4096}

// dtypes stand for the T of programs that tests write for several types.
var dtypes = []string{"f32", "i64", "bf16"}

func main() {
	dir := flag.String("dir", "", "the folder to write the texts to")
	only := flag.String("only", "", "only the sources with this in their names")
	flag.Parse()
	sources, err := collect(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if *only != "" {
		sources = slices.DeleteFunc(sources, func(s source) bool { return !strings.Contains(s.name, *only) })
	}
	lines := make([][]string, len(sources))
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				lines[i] = hashes(sources[i], *dir)
			}
		})
	}
	for i := range sources {
		next <- i
	}
	close(next)
	wg.Wait()
	for _, l := range lines {
		for _, s := range l {
			fmt.Println(s)
		}
	}
}

// collect finds the programs below root: files, files in archives, and raw strings of tests.
func collect(root string) ([]source, error) {
	var out []source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root {
				return filepath.SkipDir
			}
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch {
		case filepath.Ext(path) == ".heal":
			out = append(out, source{path, string(raw)})
		case filepath.Ext(path) == ".txtar":
			for _, f := range txtar.Parse(raw).Files {
				switch filepath.Ext(f.Name) {
				case ".heal", ".ir", ".kernels":
					out = append(out, source{path + ":" + f.Name, string(f.Data)})
				case "": // the archives of tests/fusion
					if strings.Contains(string(f.Data), "fn ") {
						out = append(out, source{path + ":" + f.Name + ".heal", string(f.Data)})
					}
				}
			}
		case strings.HasSuffix(path, "_test.go"):
			out = append(out, rawStrings(path, raw)...)
		}
		return nil
	})
	return out, err
}

// rawStrings are the programs in the raw strings of a Go file, as far as they have no verbs of fmt.
func rawStrings(path string, src []byte) []source {
	var out []source
	file := token.NewFileSet().AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	for n := 0; ; {
		_, tok, lit := s.Scan()
		if tok == token.EOF {
			return out
		}
		if tok != token.STRING || lit[0] != '`' {
			continue
		}
		text := lit[1 : len(lit)-1]
		n++
		name := path + ":" + strconv.Itoa(n)
		switch {
		case strings.HasPrefix(strings.TrimSpace(text), "kernels \""),
			strings.HasPrefix(strings.TrimSpace(text), "kernel @"):
			if !strings.HasPrefix(strings.TrimSpace(text), "kernels") {
				text = "kernels \"k\"\n\n" + text
			}
			for _, t := range dtypes { // verbs that are no numbers are types
				one := strings.NewReplacer("%s", t, "%[1]s", t).Replace(text)
				out = append(out, source{name + "." + t + ".kernels", filled(one)})
				if one == text {
					break
				}
			}
		case strings.Contains(text, "fn ") && strings.Contains(text, "T["):
			for _, t := range dtypes {
				out = append(out, source{name + "." + t + ".heal", strings.NewReplacer(" T[", " "+t+"[", " T ",
					" "+t+" ").Replace(text)})
			}
		case strings.Contains(text, "fn "):
			out = append(out, source{name + ".heal", filled(text)})
		}
	}
}

// filled puts numbers in the place of the verbs of fmt for extents.
func filled(text string) string {
	r := strings.NewReplacer("%[1]d", "33", "%[2]d", "70", "%[3]d", "41", "%[4]d", "24", "%d", "48", "%%", "%")
	return r.Replace(text)
}

// hashes makes code of each function of a source.
func hashes(s source, dir string) (lines []string) {
	defer func() {
		if r := recover(); r != nil {
			lines = append(lines, fmt.Sprintf("panic %v %s", r, s.name))
		}
	}()
	file := diag.NewFile(s.name, s.text)
	if filepath.Ext(s.name) == ".kernels" {
		return codes(s.name, "", dir, func() (*kernel.Module, error) {
			km, list := kernel.Parse(file)
			return km, list.Err()
		})
	}
	opts := engine.Options{Tests: true, Threads: 1}
	var m *engine.Module
	var err error
	if filepath.Ext(s.name) == ".ir" {
		code, list := ir.Parse(file)
		if list.Err() != nil {
			return nil
		}
		m, err = engine.CompileIR(code, opts)
	} else {
		m, err = engine.CompileFile(file, opts)
	}
	if err != nil {
		return nil // an error test, or a text that is no program
	}
	defer m.Close()
	for _, entry := range m.Names() {
		dims := parameters(m.IR().Func(entry))
		for i, n := range extents {
			bind := map[string]int64{}
			for j, d := range dims {
				if n != 0 {
					bind[d] = n + int64(j)*8
				}
			}
			if i > 0 && (len(dims) == 0 || n > 100 && len(dims) > 2) {
				continue
			}
			lines = append(lines, codes(s.name+" "+entry+" "+fmt.Sprint(n), entry, dir, func() (*kernel.Module, error) {
				return m.Kernels(entry, bind, nil)
			})...)
		}
	}
	return lines
}

// parameters are the shape parameters of a function.
func parameters(f *ir.Func) []string {
	var out []string
	for _, p := range f.Params() {
		for _, d := range p.Type.Shape {
			for _, t := range d.Terms() {
				out = append(out, t.Vars...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// codes makes code of kernels for each variant, each with a plan of its own, since generation writes to it.
func codes(name, entry, dir string, kernels func() (*kernel.Module, error)) (lines []string) {
	km, err := kernels()
	if err != nil {
		return []string{fmt.Sprintf("%-16s %s", "error", name)}
	}
	plan, err := json.Marshal(km.Plan)
	if err != nil {
		return []string{fmt.Sprintf("%-16s %s", "error", name)}
	}
	all := sha256.New()
	var texts strings.Builder
	add := func(what string, do func(km *kernel.Module) (string, error)) {
		one := *km
		if km.Plan != nil {
			one.Plan = &abi.Program{}
			if err := json.Unmarshal(plan, one.Plan); err != nil {
				panic(err)
			}
		}
		text, err := generate(func() (string, error) { return do(&one) })
		if err != nil {
			text = err.Error()
		}
		p, _ := json.Marshal(one.Plan)
		fmt.Fprintf(all, "%s\n%s\n%s\n", what, text, p)
		if dir != "" {
			fmt.Fprintf(&texts, ";;;; %s\n%s\n%s\n", what, text, p)
		}
	}
	for _, v := range variants {
		add(v.target.CPU+" "+v.effort.String(), func(km *kernel.Module) (string, error) {
			return llvm.Generate(km, llvm.Options{Effort: v.effort, Machine: target.MachineOf(v.target)})
		})
	}
	add("gpu", func(km *kernel.Module) (string, error) {
		text, d, err := gpu.Generate(km, "", true)
		launch, _ := json.Marshal(d)
		return text + string(launch), err
	})
	sum := fmt.Sprintf("%x", all.Sum(nil))[:16]
	if dir != "" {
		file := strings.NewReplacer("/", "_", " ", "_", ":", "_").Replace(name)
		if err := os.WriteFile(filepath.Join(dir, file), []byte(texts.String()), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	return []string{sum + " " + name}
}

// generate turns a panic of the generator into an error, whose text is part of the hash.
func generate(do func() (string, error)) (text string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return do()
}
