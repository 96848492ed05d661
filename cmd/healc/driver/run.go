package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	heal "healc"
	"healc/codegen/llvm/libllvm"
	"healc/internal/engine"
	"healc/internal/pipeline"
	"healc/ir"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/runtime"
	"healc/runtime/abi"
	"healc/runtime/tensor"
)

// Job is one run of a program.
type Job struct {
	File   *diag.File
	Entry  string   // "" is main, whose value becomes the exit code
	Inputs []string // NAME=VALUE
	Outs   []string // PATH or INDEX=PATH: results that go to files
	Dir    string   // where relative paths start; "" is the working folder
	Out    io.Writer
	Opts   engine.Options
	// Timeout is how long compiling and running may take; 0 is any time. After it Run ends with a *TimeoutError.
	Timeout time.Duration
	May     *Policy // what the program may do; nil is everything
	// Checkpoint is a file that keeps the states of loops, as `PATH` or `PATH,every=N`; "" for none. Resume goes on
	// from what another run has left there.
	Checkpoint string
	Resume     bool
	// Trace is a file for what happens and when, as Chrome's trace events; "" for none. Of several ranks each has its
	// own: FILE.json is FILE.0.json and so on.
	Trace string
	// Ready, when it is not nil, is called when everything is compiled and read, before the program runs. files says
	// whether the program may read or write files.
	Ready func(files bool) error
	// Loaded, when it is not nil, sees the module before it runs, for reports of bugs.
	Loaded func(*engine.Module)
}

// Run compiles the program and runs it. exit is what main returned, modulo 256; 0 with an Entry. Errors
// are a *diag.List, a *UsageError or *heal.ArgumentError, a *runtime.RuntimeError, and those of the
// stages of the compiler.
func (j *Job) Run(ctx context.Context) (exit int, err error) {
	if j.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, j.Timeout, &TimeoutError{j.Timeout})
		defer cancel()
	}
	written, err := j.record()
	if err != nil {
		return 0, err
	}
	defer func() {
		if werr := written(); err == nil && werr != nil {
			exit, err = 0, werr
		}
	}()
	timer := j.Opts.Debug.Timer
	if j.Opts.Backend == heal.CPU && j.Opts.Cache == nil {
		go libllvm.Open() // while the front end works: it takes longer, and is needed for sure
	}
	var files inputFiles
	ended := func() error { // also asked by the program, before a file is there that it writes
		if err := runtime.Ended(ctx); err != nil {
			return err
		}
		return files.err()
	}
	j.Opts.System = System{Dir: j.Dir, OS: runtime.OS{Out: j.Out, Ended: ended}, May: j.May, Source: j.File.Name}
	if err := j.checkpoints(ended); err != nil {
		return 0, err
	}
	defer func() {
		if f := j.Opts.Checkpoint; f != nil {
			f.Close()
		}
	}()
	done := timer.Stage("front end")
	j.Opts.Entry = j.Instance()
	m, err := runtime.Before(ctx, 0, func() (*engine.Module, error) {
		return engine.CompileFile(j.File, j.Opts)
	}, (*engine.Module).Close)
	done()
	if err != nil {
		return 0, err
	}
	defer m.Close()
	if j.Loaded != nil {
		j.Loaded(m)
	}
	f, _, err := j.Function(m)
	if err != nil {
		return 0, err
	}
	if err := j.May.check(m.IR(), f.IR().Name); err != nil {
		return 0, err
	}
	outs, err := j.outs(f.IR().Results)
	if err != nil {
		return 0, err
	}
	in, err := runtime.Before(ctx, 0, func() (arguments, error) {
		return j.arguments(m, f, files.read)
	}, func(in arguments) { CloseAll(in.args) })
	args := in.args
	defer CloseAll(args)
	if err != nil {
		return 0, err
	}
	if in.wholes != nil {
		f = f.OfParts(in.wholes)
	}
	defer func() {
		if failed := files.err(); failed != nil && runtime.Ended(ctx) == nil {
			exit, err = 0, failed // whatever else came of it
		}
	}()
	if j.Ready != nil {
		if _, err := f.Prepare(ctx, args); err != nil {
			return 0, BadArguments(err, f, args)
		}
		if err := j.Ready(len(j.Outs) > 0 || usesFiles(m.IR())); err != nil {
			return 0, err
		}
	}
	results, err := call(ctx, f, args, timer)
	defer func() { CloseAll(results) }()
	if err != nil {
		return 0, BadArguments(err, f, args)
	}
	if err := files.err(); err != nil {
		return 0, err // before anything is printed
	}
	if results, err = withUpdates(f, args, results); err != nil {
		return 0, err
	}
	if results, err = toHost(ctx, results); err != nil {
		return 0, err
	}
	if j.Entry == "" {
		if len(results) == 1 {
			exit = int(uint8(results[0].Bits()[0]))
		}
		return exit, nil
	}
	return 0, j.write(m, f, args, results, outs, ended)
}

// withUpdates adds to the results what the arguments of `&mut` parameters now hold.
func withUpdates(f *engine.Func, args, results []*tensor.Tensor) ([]*tensor.Tensor, error) {
	for _, k := range f.IR().Updates {
		t, err := args[k].View()
		if err != nil {
			return results, err
		}
		results = append(results, t)
	}
	return results, nil
}

// toHost is the results, those that are on a device copied to the host.
func toHost(ctx context.Context, results []*tensor.Tensor) ([]*tensor.Tensor, error) {
	if !slices.ContainsFunc(results, func(t *tensor.Tensor) bool { return t.Device() != nil }) {
		return results, nil
	}
	views := make([]*tensor.Tensor, len(results)) // the copies may outlast the results
	for i, t := range results {
		var err error
		if views[i], err = t.View(); err != nil {
			CloseAll(views[:i])
			return results, err
		}
	}
	hosts, err := runtime.Before(ctx, 0, func() (hosts []*tensor.Tensor, err error) {
		defer CloseAll(views)
		for _, t := range views {
			copied := t.ToHost
			if t.Device() == nil {
				copied = t.View
			}
			h, err := copied()
			if err != nil {
				CloseAll(hosts)
				return nil, err
			}
			hosts = append(hosts, h)
		}
		return hosts, nil
	}, CloseAll)
	if err != nil {
		return results, err
	}
	CloseAll(results)
	return hosts, nil
}

// call runs f and books the time that is not compilation as "run".
func call(ctx context.Context, f *engine.Func, args []*tensor.Tensor, timer *pipeline.Timer) ([]*tensor.Tensor,
	error) {
	if timer == nil {
		return f.CallAll(ctx, args...)
	}
	stages, start := timer.Stages(), time.Now()
	results, err := f.CallAll(ctx, args...)
	timer.Add("run", time.Since(start)-timer.Sum(stages))
	return results, err
}

// Function is the function to run, and its name.
func (j *Job) Function(m *engine.Module) (*engine.Func, string, error) {
	p := m.Program()
	name, err := j.name(p)
	if err != nil {
		return nil, "", err
	}
	f, err := m.Func(p.Func(name).Name)
	if err != nil {
		return nil, "", err
	}
	_, extents := splitEntry(j.Entry)
	if len(extents) == 0 {
		return f, name, nil
	}
	dims := f.IR().Dims
	if len(extents) != len(dims) {
		has := "no shape parameters"
		if len(dims) > 0 {
			has = fmt.Sprintf("%s (%s)", Count(len(dims), "shape parameter"), strings.Join(dims, ", "))
		}
		return nil, "", Usagef("`%s` has %s, and --entry %s has %s", name, has, j.Entry, Count(len(extents), "extent"))
	}
	given := map[string]int64{}
	for i, d := range dims {
		given[d] = extents[i]
	}
	return f.With(given), name, nil
}

// Instance is the function of --entry without extents, as `norm[f32]` of `norm[f32, 10]`.
func (j *Job) Instance() string {
	name, _ := splitEntry(j.Entry)
	return name
}

// splitEntry takes the extents out of the brackets of an entry, `f[10, 4]`, where types may stand, too.
func splitEntry(entry string) (name string, extents []int64) {
	base, inside, ok := strings.Cut(entry, "[")
	inside, closed := strings.CutSuffix(inside, "]")
	if !ok || !closed {
		return entry, nil
	}
	var names []string
	for _, part := range strings.Split(inside, ",") {
		part = strings.TrimSpace(part)
		if n, err := strconv.ParseInt(strings.ReplaceAll(part, "_", ""), 10, 64); err == nil && n >= 0 &&
			n <= types.MaxExtent {
			extents = append(extents, n)
		} else {
			names = append(names, part)
		}
	}
	if len(names) > 0 {
		base += "[" + strings.Join(names, ", ") + "]"
	}
	return base, extents
}

// name is the name of the function to run.
func (j *Job) name(p *tree.Program) (string, error) {
	if j.Entry == "" {
		f, d := p.Main()
		if d != nil {
			if list := entries(p); list != "" {
				d.Notes = append(d.Notes, "the functions here are "+list)
			}
			return "", &diag.List{Items: []*diag.Diagnostic{d}}
		}
		if len(j.Outs) > 0 {
			return "", &UsageError{Message: "--out needs --entry",
				Help: "the value of `main` is the exit code; name the function whose results to write"}
		}
		return f.Name, nil
	}
	name := j.Instance()
	if err := HasFunc(p, name); err != nil {
		return "", err
	}
	return name, nil
}

// HasFunc returns an error that offers the nearest name when p has no function of the name.
func HasFunc(p *tree.Program, name string) error {
	if p.Func(name) != nil {
		return nil
	}
	var names []string
	for _, f := range p.Funcs {
		names = append(names, f.Name)
	}
	base, _, bracketed := strings.Cut(name, "[")
	for _, i := range p.Instances {
		if i.Tuples && i.Fn.Decl.Name.Name == base {
			return &UsageError{
				Message: fmt.Sprintf("`%s` has a parameter that stands for tuples, and is no entry", base),
				Help:    "call it from a function whose parameters have types",
			}
		}
		if bracketed && i.Fn.Decl.Name.Name == base {
			return &UsageError{
				Message: fmt.Sprintf("there is no function `%s` in %s", name, p.Source.Name),
				Help: fmt.Sprintf(
					"types and numbers stand in the brackets of an entry, as in '%s'; the inputs bind the extents, "+
						"too",
					i.Fn.Shown),
			}
		}
		if i.Fn.Decl.Name.Name == name {
			return &UsageError{Message: fmt.Sprintf("`%s` has type parameters", name),
				Help: fmt.Sprintf("name the types too, as in --entry '%s'", i.Fn.Shown)}
		}
	}
	e := Usagef("there is no function `%s`", name)
	if p.Source != nil {
		e.Message += " in " + p.Source.Name
	}
	if f := p.Func(base); bracketed && f != nil && len(f.Dims) > 0 {
		e.Help = fmt.Sprintf(
			"numbers in the brackets are the extents of an entry of `run` and `bench`, one for each of %s; other "+
				"commands have --shape", strings.Join(f.Dims, ", "))
	} else if near := Nearest(name, names); near != "" {
		e.Help = fmt.Sprintf("did you mean `%s`?", near)
	} else if list := entries(p); list != "" {
		e.Help = "the functions are " + list
	}
	return e
}

// entries lists the first functions of a program for a message.
func entries(p *tree.Program) string {
	const most = 10
	var parts []string
	for i, f := range p.Funcs {
		if i == most {
			parts = append(parts, fmt.Sprintf("%d more", len(p.Funcs)-most))
			break
		}
		if f.Shown == "" { // neither of a module nor an instance
			parts = append(parts, "`"+f.Name+"`")
		}
	}
	return strings.Join(parts, ", ")
}

// Given reports whether there is an input of a name.
func (j *Job) Given(name string) bool {
	return slices.ContainsFunc(j.Inputs, func(in string) bool {
		if path, ok := strings.CutPrefix(in, "@"); ok {
			return fromArchive(path, j.Dir, []string{name}, map[string]string{}) == nil
		}
		of, _, _ := strings.Cut(in, "=")
		return strings.TrimSpace(of) == name
	})
}

// Arguments makes the arguments of f, in order, from the inputs, in memory of their own.
func (j *Job) Arguments(m *engine.Module, f *engine.Func) ([]*tensor.Tensor, error) {
	in, err := j.arguments(m, f, asItLies.npy)
	return in.args, err
}

// arguments are those of a call.
type arguments struct {
	args   []*tensor.Tensor
	wholes []engine.Whole // of those that are parts; nil: the function is called with none
}

// arguments is Arguments with what reads .npy files that stay on the host, as they are, and are not changed. On several
// ranks they may be parts.
func (j *Job) arguments(m *engine.Module, f *engine.Func, stay npyReader) (in arguments, err error) {
	if f.HasParts() {
		in.wholes = make([]engine.Whole, len(f.IR().Params()))
	}
	params := f.IR().Params()
	signature := "signature: " + f.Signature()
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.Name
	}
	given := map[string]string{}
	archived := map[string]string{} // what files give to parameters of the names of their tensors
	for _, input := range j.Inputs {
		if path, ok := strings.CutPrefix(input, "@"); ok {
			if err := fromArchive(path, j.Dir, names, archived); err != nil {
				err.Notes = append(err.Notes, signature)
				return in, err
			}
			continue
		}
		name, text, ok := strings.Cut(input, "=")
		name = strings.TrimSpace(name)
		switch {
		case !ok || name == "":
			return in, &UsageError{Message: "--in " + input + " is not NAME=VALUE", Notes: []string{signature}}
		case indexOf(names, name) < 0:
			e := &UsageError{Message: fmt.Sprintf("`%s` has no parameter `%s`", f.IR().Name, name),
				Notes: []string{signature}}
			if near := Nearest(name, names); near != "" {
				e.Help = fmt.Sprintf("did you mean `%s`?", near)
			}
			return in, e
		}
		if _, twice := given[name]; twice {
			return in, &UsageError{Message: fmt.Sprintf("the input `%s` is given twice", name),
				Notes: []string{signature}}
		}
		given[name] = text
	}
	for i, p := range params {
		text, ok := given[p.Name]
		if !ok {
			text, ok = archived[p.Name]
		}
		if !ok {
			return in, &UsageError{
				Message: fmt.Sprintf("the input `%s` is missing", p.Name), Notes: []string{signature},
				Help: fmt.Sprintf("add --in %s=VALUE: a literal, @file.npy, @file.npz:name, @file.safetensors:name, "+
					"@folder.zarr, "+
					"or a generator such as %s", p.Name, example(p.Type)),
			}
		}
		columns := f.Memory().Param(i).Layout == types.ColMajor
		place := f.Memory().Place(i)
		moves := place != types.OnHost && m.Device() != nil
		read := fileReader{stay, asItLies.member}
		switch {
		case columns:
			read = inColumns
		case moves, slices.Contains(f.IR().Updates, int64(i)):
			read = asItLies
		}
		var t *tensor.Tensor
		if axis := f.Memory().ParamAxis(i); in.wholes != nil && axis >= 0 {
			t, in.wholes[i], err = j.partOf(m, p, axis, text)
		} else {
			t, err = valueIn(p, text, j.Dir, read)
		}
		if err != nil {
			var usage *UsageError
			if errors.As(err, &usage) {
				usage.Notes = append(usage.Notes, signature)
			}
			return in, err
		}
		if moves {
			move := t.ToDevice
			if place == types.OnUnified {
				move = t.ToUnified
			}
			there, err := move(m.Device())
			t.Close()
			if err != nil {
				return in, err
			}
			t = there
		}
		if columns {
			ordered, err := t.ColumnMajor()
			t.Close()
			if err != nil {
				return in, err
			}
			t = ordered
		}
		in.args = append(in.args, t)
	}
	return in, nil
}

// example is a generator for a type, with 4 for extents that are not literal.
func example(t types.Tensor) string {
	parts := make([]string, len(t.Shape))
	for i, d := range t.Shape {
		parts[i] = "4"
		if n, ok := d.Const(); ok {
			parts[i] = strconv.FormatInt(n, 10)
		}
	}
	return t.Elem.String() + "[" + strings.Join(parts, ",") + "]:rand(1)"
}

func indexOf(list []string, s string) int {
	for i, x := range list {
		if x == s {
			return i
		}
	}
	return -1
}

// BadArguments adds what was given to an error about arguments that do not fit, so that both shapes
// stand there.
func BadArguments(err error, f *engine.Func, args []*tensor.Tensor) error {
	var e *heal.ArgumentError
	if !errors.As(err, &e) {
		return err
	}
	given := make([]string, len(args))
	help := ""
	for i, a := range args {
		p := f.IR().Params()[i]
		given[i] = p.Name + ": " + types.Of(a.DType, f.WholeShape(i, a)...).String()
		if a.DType != p.Type.Elem && help == "" {
			help = fmt.Sprintf("there is no implicit conversion; in NumPy, %s.astype(%q) converts", p.Name,
				numpyName(p.Type.Elem))
		}
	}
	if free := undetermined(f.IR()); free != "" && help == "" {
		parts := strings.Split(f.IR().Name, ".") // the types of an instance stand behind its name
		name, args := parts[0], ""
		if len(f.IR().Params()) > 0 {
			args = "..."
		}
		brackets := strings.Join(append(parts[1:], f.IR().Dims...), ", ")
		help = fmt.Sprintf(
			"no parameter has the extent %s: it stands in brackets after the name, as in --entry '%s[%s]' or "+
				"`@io fn main() = print(%s[%s](%s))` with numbers in the brackets", free, name, brackets, name,
			brackets, args)
	}
	return &UsageError{
		Message: "the inputs do not fit: " + e.Message,
		Notes:   []string{"signature: " + f.Signature(), "given:     " + strings.Join(given, ", ")},
		Help:    help,
	}
}

// undetermined is the first shape parameter that stands in the extents of no parameter, or "".
func undetermined(f *ir.Func) string {
	for _, name := range f.Dims {
		if !slices.ContainsFunc(f.Params(), func(p *ir.Value) bool {
			return slices.ContainsFunc(p.Type.Shape, func(d types.Dim) bool {
				return slices.Contains(d.Params(), name)
			})
		}) {
			return name
		}
	}
	return ""
}

func numpyName(d types.DType) string {
	switch {
	case d == types.Bool:
		return "bool"
	case d.IsFloat():
		return "float" + strconv.Itoa(d.Bits())
	case d.IsUnsigned():
		return "uint" + strconv.Itoa(d.Bits())
	}
	return "int" + strconv.Itoa(d.Bits())
}

func CloseAll(ts []*tensor.Tensor) {
	for _, t := range ts {
		t.Close()
	}
}

// TimeoutError says that a program took longer than it may.
type TimeoutError struct{ Limit time.Duration }

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the program was stopped: it takes longer than %v", e.Limit)
}

// System is the operating system with relative paths of programs starting at Dir.
type System struct {
	runtime.OS
	Dir    string
	May    *Policy // nil: everything
	Source string  // the file of the program, for hints
}

// Failure is the message for a failure of the running program, with the source line when it is in file.
func Failure(e *runtime.RuntimeError, file *diag.File) *diag.Diagnostic {
	lines := strings.Split(e.Message, "\n") // an assertion shows its values below what it says
	d := &diag.Diagnostic{Message: lines[0], Notes: lines[1:]}
	d.Primary.Span = siteSpan(&e.Site, file)
	return d
}

// siteSpan is the place of a site, and the calls that led there. file is the source as far as it is in that.
func siteSpan(s *abi.Site, file *diag.File) diag.Span {
	if s.Line == 0 {
		return diag.Span{}
	}
	from := file
	if file == nil || file.Name != s.File {
		// The code came from elsewhere, such as a library, or IR text that names its source.
		from = diag.NewFile(s.File, strings.Repeat("\n", s.Line-1)+s.Text+"\n")
	}
	at := spanAt(from, s.Line, s.Col)
	if s.Caller != nil {
		caller := siteSpan(s.Caller, file)
		at.Caller = &caller
	}
	return at
}

// spanAt is the one code point at a line and column, both from 1.
func spanAt(file *diag.File, line, col int) diag.Span {
	start := 0
	for ; line > 1; line-- {
		i := strings.IndexByte(file.Text[start:], '\n')
		if i < 0 {
			break
		}
		start += i + 1
	}
	size := 0
	for i, r := range file.Text[start:] {
		if col--; col == 0 {
			start += i
			size = utf8.RuneLen(r)
			break
		}
	}
	return diag.Span{File: file, Start: start, End: start + max(size, 0)}
}
