package tests

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"healc/codegen/target/profile"
)

// TestGeneratedProfiles: docs/tuning/profiles.md has every number of every profile.
func TestGeneratedProfiles(t *testing.T) {
	var want strings.Builder
	want.WriteString("# Profiles\n\nGenerated from [codegen/target/profile](../../codegen/target/profile) by " +
		"`go test ./tests -run Generated -update`.\n\n" +
		"A profile has what was measured about a processor, and no number in it changes a result. Where a cell of a " +
		"profile\nis empty it has the number of `base`. The fields of `plan` and `fusion` are those of `base` for " +
		"every processor,\nbecause a library has one plan for all of them. `healc explain --profile` says which " +
		"profile this machine has, and\nby what it was chosen.\n")
	var others []string
	for _, name := range profile.Order {
		if name != "base" {
			others = append(others, name)
		}
	}
	group := ""
	for _, f := range profile.Fields() {
		if g := f.Group(); g != group {
			group = g
			fmt.Fprintf(&want, "\n## %s\n\n| field | base | %s | unit | range | what it trades | measured |\n", g,
				strings.Join(others, " | "))
			want.WriteString(strings.Repeat("|---", 6+len(others)) + "|\n")
		}
		base := f.Get(profile.Base())
		fmt.Fprintf(&want, "| `%s` | %d |", f.Name, base)
		for _, name := range others {
			if x := f.Get(profile.Named(name)); x != base {
				fmt.Fprintf(&want, " %d", x)
			}
			want.WriteString(" |")
		}
		power := ""
		if f.Power {
			power = ", a power of two"
		}
		fmt.Fprintf(&want, " %s | %d to %d%s | %s | [%s](%s.md) |\n", f.Unit, f.Low, f.High, power, f.Trade, f.Page,
			f.Page)
	}
	const path = "../docs/tuning/profiles.md"
	got, err := os.ReadFile(path)
	switch {
	case err == nil && string(got) == want.String():
	case *update:
		if err := os.WriteFile(path, []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Error("docs/tuning/profiles.md is not what the profiles say: run go test ./tests -run Generated -update")
	}
}

// measuredIn are the packages whose decisions are about machines: a number that one of them decides by is a field of a
// profile.
var measuredIn = []string{"codegen/schedule", "codegen/llvm/emit", "codegen/llvm/loops", "codegen/llvm/reduce",
	"codegen/llvm/matmul", "codegen/llvm/transpose", "codegen/llvm/ntt", "codegen/gpu", "ir/kernel/analysis",
	"ir/kernel/transform", "passes/fusion", "passes/bufferize/lower", "passes/bufferize/plan", "runtime/abi",
	"runtime/pool"}

// noMachine are named numbers in these packages that no machine decides, with the reason.
var noMachine = map[string]string{
	"Mostly":                  "says which kernels stores.written_most is about",
	"maxIndex":                "follows from the width of an index",
	"compactMost":             "what is copied to have code once in place of twice: little, whatever holds it",
	"AMXRows":                 "what the instructions are for",
	"AMXSide":                 "what the instructions are for",
	"amxX":                    "a number of a register",
	"amxY":                    "a number of a register",
	"leastNormal":             "follows from the formats of f32 and bf16",
	"maxBranches":             "a bound for the length of code, which doubles with each branch in a row",
	"mostCondition":           "a bound for the length of code: both arms are computed for every element",
	"perStep":                 "what the instructions are for",
	"roundedAtOnce":           "what the registers beside the sums have room for",
	"warpSteps":               "what the instructions are for",
	"StageRow":                "two chunks, which the language fixes",
	"leastColumn":             "a shorter line is one pass, which reads all of it at once",
	"leastStaged":             "a square of the widest elements has as many rows",
	"leastShuffled":           "shorter vectors have no shuffles",
	"aligned":                 "reductions have vectors of up to so many elements",
	"LineBytes":               "the line of the caches is 64 bytes on every processor there is",
	"MaxShuffled":             "a stride of more needs more loads than a line has elements",
	"maxSubranges":            "bounds code that is written several times",
	"maxSubrangeCode":         "bounds code that is written several times",
	"maxUnswitched":           "bounds code that is written several times",
	"maxUnswitchedCode":       "bounds code that is written several times",
	"minUnswitchedArm":        "bounds code that is written several times",
	"maxTransposedStatements": "bounds code that is written several times",
	"maxTile":                 "bounds code that is written several times",
	"maxStraight":             "bounds code that is written several times",
	"maxCopy":                 "what a thread has memory for, whatever a schedule says",
	"maxCopies":               "what a thread has memory for, whatever a schedule says",
	"BlockThreads":            "the code of a thread is written for such blocks",
	"SliceElements":           "the code of a thread is written for such slices",
	"ThreadsPerSide":          "the code of a thread is written for such blocks",
	"blockLoopShared":         "what every device gives a block, with room for slots",
	"warpSize":                "of the hardware",
	"blockSize":               "the code of a thread is written for such blocks",
	"gridThreads":             "a block that every device runs several of at once",
	"listThreads":             "a warp sums the counts of the warps of such a block",
	"rankWord":                "a word of the contract with the runtime",
	"recursionStack":          "the most that a device allows",
	"unseenStack":             "a bound, far above what there is",
	"maxParams":               "of PTX",
	"plainParams":             "of PTX",
	"paramsLLVM":              "a version of LLVM",
	"localLimit":              "all that a device can run at a time have it: 4 KiB each are a gigabyte on the largest",
	"scratchLimit":            "bounds memory, where few kernels with little to gain need it",
	"partElements":            "what fits the shared memory of a block",
	"partStages":              "what fits the registers of a thread",
	"outerStages":             "what fits the registers of a thread",
	"mostBound":               "a proven bound",
	"innerBound":              "a proven bound",
	"partPadding":             "of the hardware: banks",
	"tiledOperands":           "bounds code that is written several times",
	"transposeMost":           "bounds code that is written several times",
	"transposeTile":           "of the hardware: banks and warps",
	"transposeThreads":        "the code of a thread is written for such blocks",
	"NominalExtent":           "stands for an extent that is not known",
	"nominalExtent":           "stands for an extent that is not known",
	"CheckInstrs":             "bounds code that is written several times",
	"Unrolled":                "bounds code that is written several times",
	"MaxPeriod":               "elements of the longest vectors",
	"PeriodTail":              "elements of the longest vectors",
	"maxAffine":               "a proven bound",
	"maxScalars":              "bounds a search, and with it the time of the compiler",
	"maxInstances":            "bounds a search, and with it the time of the compiler",
	"callWork":                "a guess at what nobody can know, a recursion",
	"ErrorBytes":              "of the contract with the runtime",
	"MaxCallDepth":            "of the language",
	"DeviceAlign":             "the widest load of a thread of a device",
	"maxPartPieces":           "bounds how finely a part is cut",
	"MaxThreads":              "what a caller may ask for",
	"ToL1":                    "an argument of LLVM's prefetch",
	"ToL2":                    "an argument of LLVM's prefetch",
	"wordsBeyond":             "a constant of the conversion from doubles",
	"threeQuarterBits":        "a constant of the logarithm",
	"fusedGroups":             "the code has a name for each of the four accumulators",
	"argumentBlock":           "positions in a block fit 32 bits",
	"maxLevels":               "of the order that the language has for sums",
	"nominalSize":             "stands for an extent that is not known",
	"page":                    "pages are 4 KiB",
	"LowRows":                 "the shape of low tiles, for which the microkernel is written",
	"LowVecs":                 "the shape of low tiles, for which the microkernel is written",
	"NttOne":                  "the unit of proven bounds",
	"NttUnits":                "the unit of proven bounds",
	"NttHalvesProduct":        "a proven bound",
	"nttHalvesParts":          "vectors of a factor",
	"MostShared":              "the length of a body, in instructions, above which accumulators no longer decide",
	"spareBytes":              "memory of a thread's stack, which has so much on every machine",
	"digitSort":               "a count of operations, whose time the profile has",
	"callCost":                "a guess at what nobody can know, a recursion",
	"maxRoots":                "bounds the results of a kernel",
	"maxCandidates":           "bounds a search, and with it the time of the compiler",
	"maxUpdates":              "bounds a search, and with it the time of the compiler",
	"maxBehind":               "bounds a search, and with it the time of the compiler",
	"maxArms":                 "bounds a search, and with it the time of the compiler",
	"maxSeen":                 "bounds a search, and with it the time of the compiler",
	"tooMuch":                 "bounds sums of estimates",
	"assumedSteps":            "stands for a number of steps that is not known",
}

// TestNoMachineConstants: no number that was measured comes back as a constant of the code that decides by it. A named
// number is on the list above with a reason, and a comparison with a number of 16 and more has a name.
func TestNoMachineConstants(t *testing.T) {
	used := map[string]bool{}
	for _, dir := range measuredIn {
		files, err := filepath.Glob("../" + dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range f.Decls {
				g, ok := decl.(*ast.GenDecl)
				if !ok || g.Tok != token.CONST {
					continue
				}
				for _, spec := range g.Specs {
					v := spec.(*ast.ValueSpec)
					for i, name := range v.Names {
						if i >= len(v.Values) || !numeric(v.Values[i]) {
							continue
						}
						used[name.Name] = true
						if noMachine[name.Name] == "" {
							t.Errorf("%s: %s is a number that the code decides by: make it a field of "+
								"codegen/target/profile, or give the reason why no machine decides it in noMachine",
								set.Position(name.Pos()), name.Name)
						}
					}
				}
			}
		}
	}
	for name := range noMachine {
		if !used[name] {
			t.Errorf("noMachine has %s, which is no constant", name)
		}
	}
}

// numeric reports that an expression is made of numbers.
func numeric(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Kind == token.INT || e.Kind == token.FLOAT
	case *ast.BinaryExpr:
		return numeric(e.X) && numeric(e.Y)
	case *ast.ParenExpr:
		return numeric(e.X)
	case *ast.Ident:
		_, err := strconv.Atoi(e.Name)
		return err == nil
	}
	return false
}
