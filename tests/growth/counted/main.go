// Command counted compiles the programs of package growth, and prints how many blocks of statements ran for each: a
// line has the name of a family, a size and the count. It has to be built with -cover -covermode=atomic.
//
//	counted [FAMILY]             all sizes that are compared
//	counted FAMILY SIZE FOLDER   leaves the counters of one program in FOLDER, for `go tool covdata textfmt`
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/coverage"
	"runtime/debug"
	"strconv"

	"healc/codegen/llvm"
	"healc/internal/modules"
	"healc/internal/pipeline"
	"healc/ir/kernel"
	"healc/ir/kernel/keval"
	"healc/lang/diag"
	"healc/lang/format"
	"healc/tests/growth"
)

func main() {
	// What is made once, such as the parser's grammar, is in pools: each processor has its own, and a collection drops
	// what is in them. With one processor and no collection counts are the same in each run.
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(-1)
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 3 {
		return leave(args[0], args[1], args[2])
	}
	for _, f := range growth.Families {
		if len(args) > 0 && args[0] != f.Name {
			continue
		}
		if err := compile(f, f.N); err != nil { // what is made once is there
			return fmt.Errorf("%s of %d: %w", f.Name, f.N, err)
		}
		for _, n := range []int{f.N, 2 * f.N, 4 * f.N} {
			if err := coverage.ClearCounters(); err != nil {
				return err
			}
			if err := compile(f, n); err != nil {
				return fmt.Errorf("%s of %d: %w", f.Name, n, err)
			}
			blocks, err := count()
			if err != nil {
				return err
			}
			fmt.Printf("%s\t%d\t%d\n", f.Name, n, blocks)
		}
	}
	return nil
}

// leave compiles one program, and writes the counters.
func leave(name, size, folder string) error {
	n, err := strconv.Atoi(size)
	if err != nil {
		return err
	}
	for _, f := range growth.Families {
		if f.Name != name {
			continue
		}
		for k := range 2 {
			if k == 1 {
				err = coverage.ClearCounters()
			}
			if err == nil {
				err = compile(f, n)
			}
			if err != nil {
				return err
			}
		}
		if err := coverage.WriteMetaDir(folder); err != nil {
			return err
		}
		return coverage.WriteCountersDir(folder)
	}
	return fmt.Errorf("there is no family %q", name)
}

// compile does what the stage of a family says. Mistakes that are reported are part of some families.
func compile(f growth.Family, n int) error {
	file := diag.NewFile("growth.heal", f.Source(n))
	if f.Stage == growth.Format {
		_, list := format.Source(file)
		return list.Err()
	}
	imports := modules.For(file, &modules.Importer{Read: growth.Imported})
	src, err := pipeline.Read(file, pipeline.ReadOptions{Tests: true, Imports: imports})
	if f.Stage == growth.Check {
		if _, mistakes := err.(*diag.List); mistakes {
			return nil
		}
		return err
	}
	if err != nil {
		return err
	}
	km, err := pipeline.New(src, pipeline.Options{}).Kernels("f", nil, nil)
	if err != nil {
		return err
	}
	if f.Stage == growth.Run {
		_, err := keval.Run(km, nil, nil, nil)
		return err
	}
	if err := kernel.Print(io.Discard, km); err != nil {
		return err
	}
	_, err = llvm.Generate(km, llvm.Options{})
	return err
}

// count is the sum of all counters. Their file begins with a header of 32 bytes and one of a segment; for each function
// follow, in LEB128, the number of counters, two numbers that name it, and the counters.
func count() (uint64, error) {
	var file bytes.Buffer
	if err := coverage.WriteCounters(&file); err != nil {
		return 0, err
	}
	b := file.Bytes()
	const header, segment, leb128 = 32, 16, 2
	if len(b) < header+segment || b[24] != leb128 {
		return 0, fmt.Errorf("the counters are not in the form that this program reads")
	}
	functions := binary.LittleEndian.Uint64(b[header:])
	texts := binary.LittleEndian.Uint32(b[header+8:]) + binary.LittleEndian.Uint32(b[header+12:])
	at := header + segment + int(texts+3)&^3
	sum := uint64(0)
	next := func() uint64 {
		n, size := binary.Uvarint(b[at:])
		at += size
		return n
	}
	for range functions {
		counters := next()
		next()
		next()
		for range counters {
			sum += next()
		}
	}
	return sum, nil
}
