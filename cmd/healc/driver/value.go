package driver

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"healc/ir"
	"healc/lang/ast"
	"healc/lang/check"
	"healc/lang/diag"
	"healc/lang/parser"
	"healc/lang/types"
	"healc/runtime/memory"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
	"healc/runtime/zarr"
)

// Value makes the tensor that text stands for, as the input of a parameter: a literal of the language,
// `@file.npy`, `@file.npz:name`, `@file.safetensors:name`, or a generator such as `f32[1024,1024]:rand(7)`. Relative
// paths start at dir. Only literals take their type from the parameter.
func Value(p *ir.Value, text, dir string) (*tensor.Tensor, error) {
	return valueIn(p, text, dir, asItLies)
}

// npyReader makes the tensor for a parameter from a .npy file.
type npyReader func(p *ir.Value, path string) (*tensor.Tensor, error)

// archive is a file of several named tensors.
type archive interface {
	Names() []string
	Read(name string) (*tensor.Tensor, error)
	ReadColumnMajor(name string) (*tensor.Tensor, error)
	Close() error
}

// archives open the files of several tensors, by how their names end.
var archives = map[string]func(path string) (archive, error){
	".npz":         func(path string) (archive, error) { return tensorfile.OpenNpz(path) },
	".safetensors": func(path string) (archive, error) { return tensorfile.OpenSafetensors(path) },
	".zarr":        func(path string) (archive, error) { return zarr.Open(path) },
}

// ending is how the name of a file ends, or of a folder, behind which a slash may stand.
func ending(path string) string { return filepath.Ext(filepath.Clean(path)) }

// fileReader makes the tensor for a parameter from a .npy file, or from one of an archive.
type fileReader struct {
	npy    npyReader
	member func(z archive, name, path string) (*tensor.Tensor, error)
}

// asItLies keeps the order of the file, inColumns has tensors in column-major order.
var (
	asItLies = fileReader{
		func(_ *ir.Value, path string) (*tensor.Tensor, error) { return tensorfile.ReadNpyFile(path) },
		func(z archive, name, _ string) (*tensor.Tensor, error) { return z.Read(name) },
	}
	inColumns = fileReader{
		func(_ *ir.Value, path string) (*tensor.Tensor, error) { return tensorfile.ReadNpyFileColumnMajor(path) },
		func(z archive, name, _ string) (*tensor.Tensor, error) { return z.ReadColumnMajor(name) },
	}
)

// valueIn is Value with what reads files.
func valueIn(p *ir.Value, text, dir string, read fileReader) (*tensor.Tensor, error) {
	switch {
	case p.Type.Elem == types.String:
		return literal(p, text)
	case strings.HasPrefix(text, "@"):
		return fileValue(p, text[1:], dir, read)
	}
	if m := generator().FindStringSubmatch(text); m != nil {
		return generate(p, m)
	}
	return literal(p, text)
}

// InputFile is the file that a value names behind its `@`, and the tensor in it: "" unless the text says which.
func InputFile(text string) (path, member string) {
	last := -1
	for end := range archives {
		if i := strings.LastIndex(text, end+":"); i >= 0 {
			last = max(last, i+len(end))
		}
	}
	if last < 0 {
		return text, ""
	}
	return text[:last], text[last+1:]
}

// fileValue reads a .npy file, or a tensor of an archive.
func fileValue(p *ir.Value, path, dir string, read fileReader) (*tensor.Tensor, error) {
	path, member := InputFile(path)
	path = inDir(dir, path)
	var t *tensor.Tensor
	var err error
	if open := archives[ending(path)]; open != nil {
		t, err = readArchive(open, path, member, read)
	} else {
		t, err = read.npy(p, path)
	}
	var full *memory.OutOfMemoryError
	switch {
	case err == nil:
		return t, nil
	case errors.As(err, &full):
		return nil, fmt.Errorf("input `%s`: %w", p.Name, err)
	case errors.Is(err, fs.ErrNotExist):
		return nil, &UsageError{Message: fmt.Sprintf("input `%s`: there is no file %s", p.Name, path)}
	}
	e := &UsageError{Message: fmt.Sprintf("input `%s`: %v", p.Name, err)}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".csv", ".tsv", ".txt", ".mat":
		e.Help = "tables in text and .mat files are not read: NumPy makes a .npy file of one, by `numpy.save`"
	}
	return nil, e
}

// readArchive reads the named tensor; without a name, the only one.
func readArchive(open func(string) (archive, error), path, name string, read fileReader) (*tensor.Tensor, error) {
	z, err := open(path)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	if name == "" {
		names := z.Names()
		if len(names) != 1 {
			return nil, fmt.Errorf("%s has %d tensors (%s); name one as in @%s:NAME", path, len(names),
				strings.Join(names, ", "), path)
		}
		name = names[0]
	}
	return read.member(z, name, path)
}

// fromArchive adds the tensors of a file of several whose names are those of parameters, as values of `--in`.
func fromArchive(path, dir string, params []string, to map[string]string) *UsageError {
	open := archives[filepath.Ext(path)]
	if open == nil {
		return Usagef("--in @%s: only .npz and .safetensors files have tensors with names", path)
	}
	z, err := open(inDir(dir, path))
	if errors.Is(err, fs.ErrNotExist) {
		return Usagef("--in @%s: there is no such file", path)
	}
	if err != nil {
		return Usagef("--in @%s: %v", path, err)
	}
	defer z.Close()
	found := false
	for _, name := range z.Names() {
		if !slices.Contains(params, name) {
			continue
		}
		if _, twice := to[name]; twice {
			return Usagef("two files of --in have a tensor `%s`", name)
		}
		to[name], found = "@"+path+":"+name, true
	}
	if !found {
		return Usagef("--in @%s: none of its tensors has the name of a parameter", path)
	}
	return nil
}

func inDir(dir, path string) string {
	if dir == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// generator is TYPE[EXTENTS]:NAME or TYPE[EXTENTS]:NAME(SEED).
var generator = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*([a-z][a-z0-9]*)\s*(?:\[([^\]]*)\])?\s*:\s*([A-Za-z_]+)\s*(?:\(([^)]*)\))?\s*$`)
})

// generators make tensors from a type and a seed; only the random ones take a seed.
var generators = map[string]struct {
	seeded bool
	make   func(d types.DType, seed uint64, shape []int64) (*tensor.Tensor, error)
}{
	"rand": {true, func(d types.DType, seed uint64, s []int64) (*tensor.Tensor, error) {
		return tensor.Rand(d, seed, s...)
	}},
	"randn": {true, func(d types.DType, seed uint64, s []int64) (*tensor.Tensor, error) {
		return tensor.Randn(d, seed, s...)
	}},
	"zeros": {false, func(d types.DType, _ uint64, s []int64) (*tensor.Tensor, error) {
		return tensor.Zeros(d, s...)
	}},
	"ones": {false, func(d types.DType, _ uint64, s []int64) (*tensor.Tensor, error) {
		return tensor.Ones(d, s...)
	}},
	"iota": {false, func(d types.DType, _ uint64, s []int64) (*tensor.Tensor, error) {
		return tensor.Iota(d, s...)
	}},
}

const generatorHelp = "a generator is TYPE[EXTENTS]:NAME, as in f32[1024, 1024]:rand(7); the names are rand(SEED), " +
	"randn(SEED), zeros, ones, iota"

// generate runs a generator; m is the match of its text.
func generate(p *ir.Value, m []string) (*tensor.Tensor, error) {
	fail := func(format string, args ...any) (*tensor.Tensor, error) {
		return nil, &UsageError{Message: fmt.Sprintf("input `%s`: ", p.Name) + fmt.Sprintf(format, args...),
			Help: generatorHelp}
	}
	d, ok := types.ParseDType(m[1])
	if !ok || d.Bytes() == 0 {
		return fail("%q is no element type", m[1])
	}
	var shape []int64
	if extents := strings.TrimSpace(m[2]); extents != "" {
		for _, e := range strings.Split(extents, ",") {
			n, err := strconv.ParseInt(strings.ReplaceAll(strings.TrimSpace(e), "_", ""), 10, 64)
			if err != nil || n < 0 || n > types.MaxExtent {
				return fail("%q is no extent from 0 to %d", strings.TrimSpace(e), types.MaxExtent)
			}
			shape = append(shape, n)
		}
	}
	g, ok := generators[m[3]]
	if !ok {
		return fail("there is no generator %q", m[3])
	}
	seed := uint64(0)
	if m[4] != "" {
		var err error
		if seed, err = strconv.ParseUint(strings.TrimSpace(m[4]), 10, 64); err != nil {
			return fail("the seed %q is no number from 0 to 2^64-1", m[4])
		}
		if !g.seeded {
			return fail("%s takes no seed", m[3])
		}
	}
	// A type that does not fit is refused before memory is taken and filled.
	if got := types.Of(d, shape...); got.Elem != p.Type.Elem || got.Rank() != p.Type.Rank() {
		return nil, &UsageError{Message: fmt.Sprintf("input `%s` has to be %s, not %s", p.Name, p.Type, got)}
	}
	t, err := g.make(d, seed, shape)
	var full *memory.OutOfMemoryError
	if errors.As(err, &full) {
		return nil, fmt.Errorf("input `%s`: %w", p.Name, err)
	}
	if err != nil {
		return fail("%v", err)
	}
	return t, nil
}

// special makes literals of the names `inf` and `nan` in a value: no source has them, since 1.0 / 0.0 says as much, but
// an input is no more than literals.
func special(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.Name:
		if e.Name == "inf" || e.Name == "nan" {
			return &ast.Lit{At: e.At, Kind: ast.FloatLit, Raw: e.Name, Value: e.Name}
		}
	case *ast.Unary:
		e.X = special(e.X)
	case *ast.Paren:
		e.X = special(e.X)
	case *ast.Array:
		for i := range e.Elems {
			e.Elems[i] = special(e.Elems[i])
		}
	}
	return e
}

// foreignSpecial finds in a message the names that other languages have for infinity and NaN.
var foreignSpecial = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?i)unknown name `(inf|infinity|nan|np|math|torch)`")
})

// fileName finds values that were meant to name a file.
var fileName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[^"\[(]*\.(npy|(npz|safetensors|zarr)(:[^:]+)?)$`)
})

// literal reads a literal of the language: a number, bool or char, or an array of them. The text is
// parsed as the body of a function, and nothing may follow it.
func literal(p *ir.Value, text string) (*tensor.Tensor, error) {
	fail := func(d *diag.Diagnostic) (*tensor.Tensor, error) {
		help := d.Help
		if p.Type.Elem == types.String && !strings.HasPrefix(strings.TrimSpace(text), `"`) {
			help = fmt.Sprintf("a string stands in quotes: --in '%s=\"...\"'", p.Name)
		}
		if foreignSpecial().MatchString(d.Message) {
			help = "they are written inf, -inf and nan"
		}
		if p.Type.Elem != types.String && fileName().MatchString(text) {
			help = fmt.Sprintf("a file is given with `@`: --in %s=@%s", p.Name, text)
		}
		return nil, &UsageError{Message: fmt.Sprintf("input `%s`: %s in %s", p.Name, d.Message, Shorten(text)),
			Notes: d.Notes, Help: help}
	}
	file := diag.NewFile("--in "+p.Name, "fn value() = "+text+"\n")
	tree, list := parser.Parse(file)
	if list.HasErrors() {
		return fail(list.Items[0])
	}
	f, ok := tree.Decls[0].(*ast.FuncDecl)
	if !ok || len(tree.Decls) != 1 {
		return fail(&diag.Diagnostic{Message: "there is more than one value"})
	}
	want := p.Type
	want.Elem = want.Elem.ComputesAs()
	array, list := check.CheckExpr(file, special(f.Body), want)
	if list.HasErrors() {
		return fail(list.Items[0])
	}
	if d := p.Type.Elem; d.IsStored() {
		array.DType = d
		for i, x := range array.Bits {
			if d != types.I4 {
				array.Bits[i] = uint64(types.StoredBits(d, math.Float32frombits(uint32(x))))
			} else if n := int32(x); n < -8 || n > 7 {
				return fail(&diag.Diagnostic{Message: fmt.Sprintf("%d does not fit i4, whose integers are -8 to 7", n)})
			}
		}
	}
	if array.DType == types.String {
		return tensor.Text(array.Str), nil
	}
	return tensor.FromBits(array.DType, array.Shape, array.Bits)
}
