// Package tests holds the tests that see the whole project: which package imports which, that the tables
// of operations and of error codes are complete, and, in folders, golden files (golden), whole programs
// (run), random programs (random), the command line (cli) and the benchmark (bench).
package tests

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the module path, and the import path of the root package.
var module = path.Dir(reflect.TypeFor[inTests]().PkgPath())

type inTests struct{}

// imports says which packages of the project each package may import outside of its tests; it is the
// table of docs/packages.md. A name alone is that package, with "/..." the ones below it as well. "leaves"
// are the packages of data that everything above them may use. The order is that of the pipeline: no
// package stands below one that it is allowed to import, except where a helper package follows its user.
// codeIR is what every package that writes LLVM IR of kernels may import.
const codeIR = "codegen/target/profile lang/types ir/scalar ir/kernel ir/kernel/analysis codegen/schedule runtime/abi "

// typing is what every package that types expressions may import.
const typing = "leaves lang/ast ir ir/ops ir/scalar lang/check/tree lang/check/report lang/check/literal " +
	"lang/check/unify lang/check/scope"

var imports = []struct{ pkg, may string }{
	{"lang/diag", ""},
	{"internal/caught", ""},
	{"internal/until", "internal/caught"},
	{"lang/types", ""},
	{"lang/ast", "lang/diag"},
	{"lang/lexer", "lang/ast lang/diag"},
	{"lang/parser", "lang/ast lang/diag lang/lexer"},
	{"lang/names", "lang/ast lang/diag"},
	{"lang/format", "lang/ast lang/diag lang/lexer lang/parser"},
	{"ir/scalar", "lang/types"},
	{"ir/scalar/elementary", "lang/types ir/scalar"},
	{"ir/scalar/modular", "lang/types ir/scalar"},
	{"ir/scalar/scalartest", "lang/types ir/scalar"},
	{"ir/scan", "leaves"},
	{"runtime/cluster", ""},
	{"runtime/dynlib", ""},
	{"ir", "leaves ir/scalar ir/scan runtime/cluster"},
	{"ir/fourier", ""},
	{"ir/rows", "lang/types ir ir/fourier ir/scalar ir/scalar/modular"},
	{"ir/ops", "leaves ir ir/fourier ir/rows ir/scalar ir/scalar/elementary ir/scalar/modular"},
	{"lang/check/tree", "leaves lang/ast ir ir/scalar"},
	{"lang/check/report", "leaves"},
	{"lang/check/literal", "lang/types lang/ast ir/scalar"},
	{"lang/check/unify", "leaves lang/check/tree"},
	{"lang/check/scope", "leaves lang/ast lang/check/tree lang/check/report ir ir/ops ir/scalar"},
	{"lang/check/modules", "lang/diag lang/ast lang/check/report lang/check/scope"},
	{"lang/check/infer", typing},
	{"lang/check/operators", typing + " lang/check/infer"},
	{"lang/check/indexing", typing + " lang/check/infer lang/check/operators"},
	{"lang/check/builtins", typing + " lang/check/infer lang/check/indexing lang/check/operators"},
	{"lang/check/grad", typing + " lang/check/infer"},
	{"lang/check", "leaves lang/ast lang/names lang/check/... ir"},
	{"lang/irgen", "leaves lang/check/tree ir ir/ops ir/scalar"},
	{"runtime/abi", "codegen/target/profile lang/types"},
	{"ir/interp", "leaves ir ir/ops ir/scalar runtime/abi runtime/cluster"},
	{"ir/kernel", "leaves ir ir/scalar ir/scan runtime/abi"},
	{"ir/kernel/keval", "leaves ir ir/ops ir/scalar ir/kernel runtime/abi runtime/cluster"},
	{"ir/kernel/analysis", "lang/types ir ir/scalar ir/kernel"},
	{"ir/kernel/transform", "codegen/target/profile lang/types ir/scalar ir/kernel ir/kernel/analysis runtime/abi"},
	{"passes", "leaves ir ir/ops ir/scalar ir/kernel passes/fusion passes/bufferize passes/shard runtime/cluster"},
	{"ir/exchange", "lang/types ir runtime/cluster runtime/exchange"},
	{"passes/checkpoint", "leaves ir ir/exchange ir/ops"},
	{"passes/shard", "leaves ir ir/exchange ir/ops ir/rows runtime/exchange"},
	{"passes/fusion", "codegen/target/profile leaves ir ir/ops ir/scalar"},
	{"passes/bufferize", "lang/types ir ir/exchange ir/ops ir/kernel ir/kernel/analysis ir/kernel/transform " +
		"passes/bufferize/lower passes/bufferize/plan runtime/abi"},
	{"passes/bufferize/plan",
		"leaves ir ir/ops ir/scalar ir/kernel ir/kernel/analysis ir/kernel/transform passes/bufferize/lower " +
			"runtime/abi"},
	{"passes/bufferize/lower", "codegen/target/profile leaves ir ir/ops ir/scalar ir/kernel " +
		"ir/kernel/transform runtime/abi"},
	{"codegen", "ir/kernel runtime/abi internal/caught"},
	{"internal/distro", ""},
	{"codegen/llvm/libllvm", "runtime/dynlib internal/distro"},
	{"codegen/target/profile", ""},
	{"runtime/amx", ""},
	{"codegen/target", "codegen/target/profile codegen runtime/amx"},
	{"codegen/target/tuned", "codegen/target/profile codegen ir/kernel ir/kernel/transform"},
	{"codegen/schedule", "codegen/target/profile lang/types ir ir/scalar ir/kernel ir/kernel/analysis " +
		"ir/kernel/transform codegen/target"},
	{"codegen/llvm/build", "lang/types"},
	{"codegen/llvm/emit", codeIR + "lang/diag codegen/target codegen/llvm/build"},
	{"codegen/llvm/loops", codeIR + "ir/kernel/transform codegen/llvm/build codegen/llvm/emit"},
	{"codegen/llvm/reduce",
		codeIR + "ir ir/kernel/transform codegen/llvm/build codegen/llvm/emit codegen/llvm/loops"},
	{"codegen/llvm/matmul",
		codeIR + "codegen/llvm/build codegen/llvm/emit codegen/llvm/loops codegen/llvm/reduce"},
	{"codegen/llvm/transpose", codeIR + "codegen/target codegen/llvm/build codegen/llvm/emit codegen/llvm/loops"},
	{"codegen/llvm/ntt", codeIR + "ir/scalar/modular codegen/target codegen/llvm/build codegen/llvm/emit " +
		"codegen/llvm/loops"},
	{"codegen/llvm/sorting", "lang/types ir/scalar ir/kernel codegen/llvm/build codegen/llvm/emit"},
	{"codegen/llvm/device", codeIR + "ir ir/kernel/transform codegen/target codegen/llvm/libllvm codegen/llvm/build " +
		"codegen/llvm/emit codegen/llvm/loops codegen/llvm/reduce codegen/llvm/ntt"},
	{"codegen/llvm", codeIR + "ir/kernel/transform codegen codegen/target codegen/target/tuned codegen/llvm/libllvm " +
		"codegen/llvm/build codegen/llvm/emit codegen/llvm/loops codegen/llvm/reduce codegen/llvm/matmul " +
		"codegen/llvm/transpose codegen/llvm/ntt codegen/llvm/sorting"},
	{"codegen/llvm/aot/names", ""},
	{"codegen/llvm/aot",
		"codegen/target/profile codegen/target/tuned lang/types ir/kernel ir/kernel/transform runtime/abi " +
			"runtime/exchange codegen codegen/target codegen/llvm codegen/llvm/libllvm codegen/llvm/aot/names"},
	{"codegen/gpu", codeIR + "ir ir/kernel/transform codegen codegen/llvm codegen/llvm/device codegen/llvm/libllvm"},
	{"codegen/gpu/ptx", ""},
	{"codegen/gpu/ptxsim/machine", "codegen/gpu/ptx internal/caught"},
	{"codegen/gpu/ptxsim", "codegen/gpu/ptx codegen/gpu/ptxsim/machine"},
	{"runtime/objload", "runtime/abi runtime/amx runtime/dynlib"},
	{"runtime/device/sim", "codegen/gpu/ptxsim codegen/gpu/ptxsim/machine runtime/device"},
	{"runtime/device/cuda", "runtime/device runtime/dynlib"},
	{"runtime/device/cuda/cudatest", "runtime/device"},
	{"runtime/device", ""},
	{"runtime/device/ptxas", ""},
	{"runtime/pool", "codegen/target/profile runtime/abi internal/caught"},
	{"runtime/memory", "runtime/device internal/until"},
	{"runtime/tensor", "lang/types runtime/device runtime/memory"},
	{"runtime/tensor/tensortest", "lang/types runtime/memory runtime/tensor"},
	{"runtime/mapped", "runtime/memory"},
	{"runtime/exchange", "runtime/cluster"},
	{"runtime/collective", "runtime/cluster runtime/exchange"},
	{"runtime/cluster/clustertest", "runtime/cluster"},
	{"runtime/cluster/mesh", "runtime/cluster"},
	{"runtime/cluster/mpi", "runtime/cluster runtime/dynlib"},
	{"runtime/tensorfile", "lang/types runtime/mapped runtime/memory runtime/tensor internal/regular"},
	{"runtime/arrow", "lang/types runtime/memory runtime/tensor"},
	{"runtime/zarr", "lang/types runtime/tensor runtime/tensorfile internal/regular"},
	{"runtime/checkpoint",
		"lang/types runtime/cluster runtime/collective runtime/exchange runtime/tensor runtime/tensorfile"},
	{"runtime/jitinfo", ""},
	{"runtime",
		"codegen/target/profile lang/types runtime/abi runtime/amx runtime/checkpoint runtime/cluster " +
			"runtime/collective runtime/device runtime/exchange runtime/jitinfo runtime/memory runtime/objload " +
			"runtime/pool runtime/tensor runtime/tensorfile runtime/trace internal/until"},
	{"runtime/trace", ""},
	{"internal/onnx",
		"leaves lang/format ir/scalar runtime/tensor runtime/tensorfile internal/regular"},
	{"transcript", "lang/types runtime/tensor runtime/tensorfile internal/regular"},
	{"transcript/lower", "leaves ir ir/ops ir/scalar runtime/tensor transcript"},
	{"stdlib", ""},
	{"docs", ""},
	{"internal/regular", ""},
	{"internal/identity", "runtime/objload"},
	{"internal/cache", "codegen runtime/abi internal/identity"},
	{"internal/modules", "lang/ast lang/check lang/diag lang/parser stdlib internal/regular"},
	{"internal/gradient", "leaves ir ir/ops ir/scalar"},
	{"internal/interpio", "lang/types ir runtime runtime/checkpoint runtime/tensor runtime/tensorfile"},
	{"internal/backend", "codegen codegen/gpu runtime/memory runtime/device/..."},
	{"internal/residency", "leaves lang/check/tree ir ir/ops ir/kernel runtime runtime/memory runtime/tensor"},
	{"internal/sandbox", "runtime/jitinfo"},
	{"internal/testhook", "runtime"},
	{"internal/pipeline", "codegen/target/profile codegen/target/tuned leaves lang/ast lang/check lang/check/tree " +
		"lang/irgen lang/parser ir ir/kernel ir/kernel/transform " +
		"passes passes/bufferize passes/checkpoint passes/shard codegen " +
		"codegen/gpu codegen/llvm codegen/llvm/aot codegen/llvm/libllvm runtime runtime/abi runtime/jitinfo " +
		"internal/backend internal/cache internal/gradient internal/identity internal/modules internal/residency " +
		"internal/testhook"},
	{"internal/engine",
		"codegen/target/profile codegen/target/tuned leaves lang/check ir ir/interp ir/kernel " +
			"passes/shard codegen runtime runtime/checkpoint runtime/cluster runtime/collective runtime/exchange " +
			"runtime/memory runtime/pool runtime/tensor runtime/tensorfile runtime/trace internal/backend " +
			"internal/cache internal/caught internal/gradient internal/identity internal/interpio " +
			"internal/pipeline internal/residency internal/testhook internal/until"},
	{"internal/scaling",
		"codegen/target/profile lang/types ir/exchange runtime runtime/abi runtime/collective runtime/exchange"},
	{"internal/sandbox/wire", "codegen/target/tuned leaves ir runtime runtime/abi runtime/memory runtime/tensor"},
	{"internal/sandbox/serve", "codegen/target/tuned lang/diag ir codegen/llvm/libllvm runtime runtime/tensor " +
		"runtime/tensorfile internal/backend internal/caught internal/engine internal/modules internal/regular " +
		"internal/sandbox internal/sandbox/wire internal/testhook"},
	{"internal/sandbox/sandboxtest", "codegen/llvm/libllvm runtime/objload"},
	{"internal/sandbox/remote",
		"codegen/target/profile leaves codegen/llvm/libllvm runtime runtime/pool runtime/tensor " +
			"runtime/tensorfile internal/backend internal/sandbox internal/sandbox/serve internal/sandbox/wire " +
			"internal/until"},
	{"internal/replay", "leaves ir runtime runtime/tensor transcript transcript/lower internal/backend " +
		"internal/engine"},
	{"", "codegen/target/tuned leaves runtime runtime/cluster/... runtime/memory runtime/tensor runtime/device " +
		"runtime/trace transcript internal/..."},
	{"nn", ". ir/scalar lang/types runtime/tensor runtime/tensorfile"},
	{"cmd/healc/measure", "codegen/llvm/libllvm runtime/..."},
	{"cmd/healc/...", "* cmd/healc/..."},
	{"internal/packaging", ". cmd/healc/cli"},
	{"tests/bench/ranks", "runtime/cluster runtime/dynlib cmd/healc/ranks"},
	{"tests/...", "* nn cmd/healc/measure tests/..."},
}

// groups are the names in the table that stand for several packages.
var groups = map[string]string{
	"leaves": "lang/diag lang/types",
	"*": ". internal/... lang/... ir/... passes/... codegen/... runtime/... transcript transcript/lower stdlib " +
		"docs",
}

// outside says which packages may use a module that is not the standard library.
var outside = []struct{ dep, by string }{
	{"github.com/alecthomas/participle/v2", "lang/lexer lang/parser"},
	{"github.com/llir/llvm", "codegen/llvm/... codegen/gpu"},
	{"github.com/ebitengine/purego",
		"runtime/arrow runtime/dynlib codegen/llvm/libllvm runtime/objload runtime/device/cuda " +
			"runtime/device/cuda/cudatest runtime/cluster/mpi tests/bench/ranks tests/library"},
	{"github.com/spf13/cobra", "cmd/healc/... internal/packaging"},
	{"github.com/elastic/go-seccomp-bpf", "internal/sandbox"},
	{"go.lsp.dev/jsonrpc2", "cmd/healc/lsp"},
	{"go.lsp.dev/protocol", "cmd/healc/lsp"},
	{"go.lsp.dev/uri", "cmd/healc/lsp"},
	{"github.com/klauspost/compress/zstd", "runtime/zarr"},
	{"github.com/spf13/pflag", "cmd/healc/... internal/packaging"},
	{"github.com/rogpeppe/go-internal", "tests/..."},
	{"golang.org/x/sys/cpu", "codegen/target runtime/amx"},
	{"golang.org/x/sys/unix", "cmd/healc/ranks internal/sandbox internal/sandbox/sandboxtest runtime/mapped"},
	{"golang.org/x/sys/windows", "internal/cache runtime/dynlib runtime/memory"},
	{"golang.org/x/term", "cmd/healc/..."},
}

func TestImports(t *testing.T) {
	seen := map[string]bool{}
	for _, file := range goFiles(t) {
		pkg := path.Dir(filepath.ToSlash(file))
		if pkg == "." {
			pkg = ""
		}
		row := rule(pkg)
		if row < 0 {
			if !seen[pkg] {
				t.Errorf("package %s is not in the table of imports: add it here", pkg)
			}
			seen[pkg] = true
			continue
		}
		seen[imports[row].pkg] = true
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", file), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range f.Imports {
			dep, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if why := refuse(pkg, imports[row].may, dep); why != "" {
				t.Errorf("%s imports %s: %s", file, dep, why)
			}
		}
	}
	for _, r := range imports {
		if !seen[r.pkg] {
			t.Errorf("the table of imports lists %q, which has no Go file", r.pkg)
		}
	}
}

// maxFiles is how many files of Go a package may have, tests aside.
const maxFiles = 25

// TestPackageSizes: one look at the files of a package says what it has. A package with more files is two subjects, of
// which one gets a package of its own.
func TestPackageSizes(t *testing.T) {
	for _, p := range tooLarge(goFiles(t)) {
		t.Error(p)
	}
	small, large := make([]string, maxFiles), make([]string, maxFiles+1)
	for i := range large {
		large[i] = fmt.Sprintf("a/large/%d.go", i)
	}
	for i := range small {
		small[i] = fmt.Sprintf("a/%d.go", i)
	}
	got := tooLarge(append(small, large...))
	if len(got) != 1 || !strings.HasPrefix(got[0], "package a/large has 26 ") {
		t.Errorf("of %d and %d files, these are too many: %q", len(small), len(large), got)
	}
}

// tooLarge says which packages have too many of these files.
func tooLarge(files []string) []string {
	count := map[string]int{}
	for _, file := range files {
		count[path.Dir(filepath.ToSlash(file))]++
	}
	var out []string
	for pkg, n := range count {
		if n > maxFiles {
			out = append(out, fmt.Sprintf(
				"package %s has %d files, and %d are possible: give one of its subjects a package", pkg, n, maxFiles))
		}
	}
	slices.Sort(out)
	return out
}

func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// goFiles lists the project's Go files without tests, relative to its root, whatever their build tags.
func goFiles(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir("..", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		switch {
		case d.IsDir() && p != ".." && isFile(filepath.Join(p, "go.mod")): // a module of its own
			return filepath.SkipDir
		case d.IsDir() && (name == "testdata" || strings.HasPrefix(name, ".") && name != ".."):
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			rel, err := filepath.Rel("..", p)
			if err != nil {
				return err
			}
			out = append(out, rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 100 {
		t.Fatalf("only %d Go files were found", len(out))
	}
	return out
}

// rule returns the row of the table for pkg, or -1.
func rule(pkg string) int {
	return slices.IndexFunc(imports, func(r struct {
		pkg, may string
	}) bool {
		return r.pkg == pkg || under(pkg, r.pkg)
	})
}

// under reports whether pattern ends in "/..." and pkg is its folder or below it.
func under(pkg, pattern string) bool {
	root, ok := strings.CutSuffix(pattern, "/...")
	return ok && (pkg == root || strings.HasPrefix(pkg, root+"/"))
}

// refuse says why a package with these rights may not import dep, or "".
func refuse(pkg, may, dep string) string {
	if dep == "C" {
		return "the project is built without cgo"
	}
	if dep != module && !strings.HasPrefix(dep, module+"/") {
		if first, _, _ := strings.Cut(dep, "/"); !strings.Contains(first, ".") {
			return "" // the standard library
		}
		for _, o := range outside {
			if dep == o.dep || strings.HasPrefix(dep, o.dep+"/") {
				if matches(pkg, o.by) {
					return ""
				}
				return "only these packages use " + o.dep + ": " + o.by
			}
		}
		return "no package may use this module"
	}
	in := strings.TrimPrefix(strings.TrimPrefix(dep, module), "/")
	if in == "" {
		in = "."
	}
	if matches(in, may) {
		return ""
	}
	return "it may import these alone: " + may
}

// matches reports whether pkg is in a list of packages, patterns and groups.
func matches(pkg, list string) bool {
	for _, p := range strings.Fields(list) {
		if p == pkg || under(pkg, p) || groups[p] != "" && matches(pkg, groups[p]) {
			return true
		}
	}
	return false
}
