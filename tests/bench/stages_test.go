package main

import (
	"io"
	"testing"

	"healc/codegen"
	"healc/codegen/llvm"
	"healc/codegen/llvm/libllvm"
	"healc/internal/engine"
	"healc/ir/kernel"
	"healc/lang/check"
	"healc/lang/diag"
	"healc/lang/irgen"
	"healc/lang/parser"
	"healc/passes"
	"healc/passes/bufferize"
	"healc/runtime"
)

// BenchmarkStages measures what compiling the ten-line program costs, stage by stage:
//
//	go test ./tests/bench -bench Stages
func BenchmarkStages(b *testing.B) {
	file := diag.NewFile("ten.heal", tenLines)
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	tree, list := parser.Parse(file)
	must(list.Err())
	prog, list := check.Check(tree)
	must(list.Err())
	fuse := func() *kernel.Module {
		m := irgen.Generate(prog)
		must(passes.Run(m, passes.Standard("main", nil), passes.Options{}))
		km, err := bufferize.Lower(m, "main", bufferize.Options{})
		must(err)
		return km
	}
	km := fuse()
	obj, err := llvm.Compile(km, codegen.Target{}, libllvm.Object)
	must(err)

	stage := func(name string, run func()) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
	stage("parse", func() { parser.Parse(file) })
	stage("check", func() { check.Check(tree) })
	stage("irgen", func() { irgen.Generate(prog) })
	stage("irgen to bufferize", func() { fuse() })
	stage("kernel text", func() { must(kernel.Print(io.Discard, km)) })
	stage("llvm text", func() {
		_, err := llvm.Generate(km, llvm.Options{})
		must(err)
	})
	stage("llvm text to object", func() {
		_, err := llvm.Compile(km, codegen.Target{}, libllvm.Object)
		must(err)
	})
	stage("load", func() {
		x, err := runtime.Load(km.Plan, obj)
		must(err)
		x.Close()
	})
	stage("all", func() {
		m, err := engine.CompileFile(file, engine.Options{Threads: 1})
		must(err)
		km, err := m.Kernels("main", nil, nil)
		must(err)
		_, err = m.Artifact(km)
		must(err)
		m.Close()
	})
}
