package reach

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	heal "healc"
	"healc/codegen"
	"healc/codegen/gpu"
	"healc/internal/caught"
	"healc/internal/engine"
	"healc/ir"
	"healc/ir/kernel"
	"healc/passes"
	"healc/runtime/abi"
	"healc/runtime/amx"
	"healc/tests/emulated"
	"healc/tests/random"
	"healc/tests/sources"
)

// generators are those of tests/random, for tensor IR and for operations on many elements, and that of tests/sources.
// Those that compute much come last.
var generators = []string{"ir", "sources", "large", "open", "huge", "vast", "orders"}

// program is a random program and how it is run; its text form stands in reached.txt.
type program struct {
	from string // the generator
	seed uint64
	way  string
}

func (p program) String() string { return fmt.Sprintf("%s %d %s", p.from, p.seed, p.way) }

func parseProgram(text string) (program, error) {
	f := strings.Fields(text)
	if len(f) != 3 || !slices.Contains(generators, f[0]) {
		return program{}, fmt.Errorf("%q is no program", text)
	}
	seed, err := strconv.ParseUint(f[1], 10, 64)
	return program{f[0], seed, f[2]}, err
}

// device is the way of programs that run on a device.
const device = "ptxsim"

// tiled is a processor that has tile registers.
const tiled = "sapphirerapids"

// hasTiles reports whether this machine runs code for tile registers.
var hasTiles = amx.Permitted

// runs reports whether it is known what of the program's code runs: not on a device, and not where this machine has no
// tile registers.
func (p program) runs() bool {
	return p.way != device && (!strings.HasPrefix(p.way, tiled+",") || hasTiles())
}

// ways are how programs run: for a processor, with an effort, and maybe under random numbers of a machine, or with
// schedules that are changed at random. What is generated for AVX-512 is of AVX2's instructions, so that all machines
// have it; tile registers are there or not.
func ways() []string {
	cpus := []string{"x86-64", "x86-64-v3", "x86-64-v3", "x86-64-v3", tiled}
	for _, cpu := range emulated.PCProcessors {
		cpus = append(cpus, cpu+"/x86-64-v3")
	}
	var out []string
	for _, cpu := range cpus {
		for _, effort := range []string{"full", "full", "quick", "anyshape", "least"} {
			out = append(out, cpu+","+effort, cpu+","+effort+",profile", cpu+","+effort+",changed")
		}
	}
	for range 6 {
		out = append(out, device)
	}
	return out
}

// draw is the program of a number.
func draw(n uint64) program {
	r := rand.New(rand.NewPCG(n, 11))
	all := ways()
	p := program{from: generators[r.IntN(4)], seed: n, way: all[r.IntN(len(all))]}
	if r.IntN(60) == 0 && p.way != device {
		p.from = generators[4+r.IntN(2)]
	}
	if *gen != "" {
		p.from = *gen
	}
	if *way != "" {
		p.way = *way
	}
	return p
}

// options are those of a way.
func (p program) options() engine.Options {
	if p.way == device {
		return engine.Options{Backend: heal.PTXSim}
	}
	words := strings.Split(p.way, ",")
	o := engine.Options{Backend: heal.CPU, Threads: 1 + int(p.seed%3), SplitAll: true}
	o.Target = codegen.Target{Kind: codegen.Target{}.Kind, CPU: words[0]}
	for _, w := range words[1:] {
		switch w {
		case "quick":
			o.Once, o.Debug.Vectors = true, true
		case "least":
			o.Once = true
		case "anyshape":
			o.Debug.AnyShape = true
		case "profile":
			o.Debug.Profile = random.Profile(rand.New(rand.NewPCG(p.seed, 12)))
		}
	}
	return o
}

// drawn is what a generator made of a seed.
type drawn struct {
	code  *ir.Module
	bind  map[string]int64
	input []*ir.Array
	text  string
	build func(engine.Options) (*engine.Module, error)
}

func (p program) make() (*drawn, error) {
	if p.from == "ir" {
		q := random.New(p.seed, map[string]int{})
		return &drawn{q.IR, q.Bind, q.Input, q.String(),
			func(o engine.Options) (*engine.Module, error) { return engine.CompileIR(q.IR, o) }}, nil
	}
	d := &drawn{bind: map[string]int64{}}
	switch p.from {
	case "sources":
		q := sources.New(p.seed, map[string]int{})
		input, err := q.Input()
		if err != nil {
			return nil, err
		}
		d.input, d.text = input, q.Text()
		for _, name := range q.Dims {
			d.bind[name] = q.Bind[name]
		}
	case "large":
		d.text = random.Large(p.seed)
	case "huge":
		d.text = random.Huge(p.seed)
	case "open":
		d.text, d.bind = random.Open(p.seed)
	case "vast":
		d.text, d.bind = random.Vast(p.seed)
	case "orders":
		d.text, d.bind = random.Orders(p.seed)
	}
	if (p.from == "large" || p.from == "huge") && strings.Contains(p.way, "anyshape") {
		text, bind := random.Symbolic(d.text)
		d.text = text
		maps.Copy(d.bind, bind)
	}
	d.build = func(o engine.Options) (*engine.Module, error) { return engine.Compile(d.text, o) }
	m, err := d.build(engine.Options{Backend: heal.Interp})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	d.code = m.IR().Clone()
	if p.from != "sources" {
		r := rand.New(rand.NewPCG(p.seed, 8))
		for _, q := range d.code.Func("f").Params() {
			var shape []int64
			for _, dim := range q.Type.Shape {
				n, err := dim.Eval(d.bind)
				if err != nil {
					return nil, err
				}
				shape = append(shape, n)
			}
			d.input = append(d.input, random.Small(p.seed, r, q.Type.Elem, shape))
		}
	}
	return d, nil
}

// run runs p and gives what it reaches. The error says that the bits are not those of the interpreter.
func (p program) run(s *sites) (found, wrote map[string]bool, err error) {
	o := newObserver(s)
	defer func() {
		if r := recover(); r != nil {
			stack := string(debug.Stack())
			if c, ok := r.(*caught.Panic); ok {
				stack = string(c.Stack)
			}
			err = fmt.Errorf("panic: %v\n%s", r, stack)
		}
	}()
	d, err := p.make()
	if err != nil {
		return nil, nil, err
	}
	if err := o.passes(d.code.Clone(), d.bind); err != nil {
		return nil, nil, err
	}
	if strings.Contains(p.way, "anyshape") {
		if err := o.passes(d.code.Clone(), nil); err != nil {
			return nil, nil, err
		}
	}
	call := func(opts engine.Options) (*random.Outcome, error) {
		m, err := d.build(opts)
		if err != nil {
			return nil, err
		}
		defer m.Close()
		return random.Call(m, "f", d.input, p.seed)
	}
	want, err := call(engine.Options{Backend: heal.Interp})
	if err != nil {
		return nil, nil, fmt.Errorf("interpreter: %w", err)
	}
	opts := p.options()
	opts.Debug.Observer, o.stands = o, !p.runs()
	if p.way == device {
		if err := o.forms(d, p.seed, opts); err != nil {
			return nil, nil, err
		}
	} else {
		opts.Debug.Reschedule = func(k *kernel.Kernel, s *kernel.Schedule) {
			if strings.HasSuffix(p.way, ",changed") {
				n := 0
				s.Directives = random.Reschedule(rand.New(rand.NewPCG(p.seed, uint64(len(k.Types)))), s.Directives, &n)
			}
			o.schedule(s)
		}
	}
	if p.way != device && !p.runs() {
		return o.found, o.wrote, p.write(d, opts)
	}
	got, err := call(opts)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", p.way, err)
	}
	o.done()
	if diff := random.Diff(want, got); diff != "" {
		return nil, nil, fmt.Errorf("the interpreter and %s differ: %s", p.way, diff)
	}
	return o.found, o.wrote, nil
}

// write writes the code of the program, which this machine cannot run.
func (p program) write(d *drawn, opts engine.Options) error {
	m, err := d.build(opts)
	if err != nil {
		return err
	}
	defer m.Close()
	if opts.Debug.AnyShape {
		_, err = m.BuildAnyShape("f")
		return err
	}
	km, err := d.kernels(m, p.seed)
	if km != nil {
		_, err = m.Artifact(km)
	}
	return err
}

// kernels are those of the program for its arguments; nil where it stops for these.
func (d *drawn) kernels(m *engine.Module, seed uint64) (*kernel.Module, error) {
	var strides [][]int64
	for i, a := range d.input {
		t, err := random.Strided(a, seed+uint64(i))
		if err != nil {
			return nil, err
		}
		strides = append(strides, t.Strides)
		t.Close()
	}
	km, err := m.Kernels("f", d.bind, strides)
	var bind *passes.BindError
	if errors.As(err, &bind) {
		return nil, nil
	}
	return km, err
}

var remark = regexp.MustCompile(`(?m)^remark: canonicalize: (.*)$`)

// passes notes the passes that change a program, and the rules of canonicalize that do. bind is what code is made for.
func (o *observer) passes(m *ir.Module, bind map[string]int64) error {
	before := m.String()
	for _, pass := range passes.Standard("f", bind) {
		var out bytes.Buffer
		err := passes.Run(m, []passes.Pass{pass}, passes.Options{Remarks: []string{"all"}, Out: &out})
		var broken *passes.BindError
		if errors.As(err, &broken) {
			return nil // it stops for these values
		}
		if err != nil {
			return fmt.Errorf("pass %s: %w", pass.Name, err)
		}
		if after := m.String(); after != before {
			o.found["pass "+pass.Name], before = true, after
		}
		for _, r := range remark.FindAllStringSubmatch(out.String(), -1) {
			_, rule, _ := strings.Cut(r[1], ": ")
			o.found["rule "+rule] = true
		}
	}
	return nil
}

// forms notes the forms that the kernels take on a device.
func (o *observer) forms(d *drawn, seed uint64, opts engine.Options) error {
	m, err := d.build(opts)
	if err != nil {
		return err
	}
	defer m.Close()
	km, err := d.kernels(m, seed)
	if km == nil {
		return err
	}
	alone, inBlock := gpu.FormNames(km, ""), gpu.BlockFormNames(km, "")
	for _, k := range gpu.Scheduled(km, "").Kernels {
		if k.Schedule != nil {
			o.schedule(k.Schedule)
		}
	}
	art, err := m.Artifact(km)
	if err != nil {
		return err
	}
	var walk func(steps []abi.Step, block bool)
	walk = func(steps []abi.Step, block bool) {
		for _, s := range steps {
			switch {
			case s.Launch != nil && block:
				o.found["form "+inBlock[s.Launch.Kernel]+" in one block"] = true
			case s.Launch != nil:
				o.found["form "+alone[s.Launch.Kernel]] = true
			case s.If != nil:
				walk(s.If.Then, block)
				walk(s.If.Else, block)
			case s.Loop != nil:
				walk(s.Loop.Body, s.Loop.Device != nil)
			}
		}
	}
	for _, f := range art.Plan.Funcs {
		walk(f.Steps, false)
	}
	return nil
}
