package transform

import "healc/ir/kernel"

// Options of the passes.
type Options struct {
	// Teams says that threads share what one iteration of a kernel's axes does, as on devices.
	Teams bool
}

// A Pass rewrites one kernel in place.
type Pass struct {
	Name  string // the word used in tests
	Doc   string // one line
	Why   string // why it stands where it stands
	Stage Stage
	Skip  func(o Options) bool // where it does not run at all; nil for never
	Run   func(k *kernel.Kernel, o Options)
}

// A Stage is a point of the way from tensor IR to code at which passes run.
type Stage uint8

const (
	// Build is when a kernel has just been lowered: the plan, which is made next, sees what the passes leave. Its
	// buffers and its axes, which the launch needs, are settled here.
	Build Stage = iota
	// Planned is when the plan of the program is complete, and results have taken the buffers of operands.
	Planned
)

// Passes is the table of all passes, in the order in which they run.
var Passes = []Pass{
	{
		Name: "conditions", Stage: Build,
		Doc: "computes both arms of short branches that give bools, and chooses",
		Why: "first: passes behind it see loops without these branches",
		Run: func(k *kernel.Kernel, _ Options) { Conditions(k) },
	},
	{
		Name: "splitaxis", Stage: Build,
		Doc:  "splits axes by the constants that their indices are divided by",
		Why:  "before coalesce, which then joins what is left of the axis with its neighbours",
		Skip: func(o Options) bool { return o.Teams }, // threads of a device divide anyway
		Run:  func(k *kernel.Kernel, _ Options) { SplitAxes(k) },
	},
	{
		Name: "orderaxes", Stage: Build,
		Doc:  "has chunks of reductions whose order is free go through their axes in the order of memory",
		Why:  "before coalesce, which then makes one of these axes",
		Skip: func(o Options) bool { return o.Teams }, // threads of a device share out the elements of a chunk
		Run:  func(k *kernel.Kernel, _ Options) { OrderAxes(k) },
	},
	{
		Name: "coalesce", Stage: Build,
		Doc: "makes one loop of perfectly nested ones that move through all buffers as one",
		Why: "the plan launches over the outermost axis, and estimates work by the axes that are left",
		Run: func(k *kernel.Kernel, _ Options) { Coalesce(k) },
	},
	{
		Name: "renumber", Stage: Build,
		Doc: "numbers scalars in the order of the text",
		Why: "behind the passes that remove and add scalars",
		Run: func(k *kernel.Kernel, _ Options) { Renumber(k) },
	},
	{
		Name: "deadparams", Stage: Build,
		Doc: "removes parameters that nothing accesses",
		Why: "the plan passes a buffer for each parameter, so this comes before it",
		Run: func(k *kernel.Kernel, _ Options) { DeadParams(k) },
	},
	{
		Name: "rowcache", Stage: Planned,
		Doc: "keeps what several loops over one row compute in memory of the kernel",
		Why: "in place updates are found in kernels whose loops compute what they store; its rows are no buffers",
		Run: func(k *kernel.Kernel, o Options) { RowCache(k, !o.Teams) },
	},
	{
		Name: "streamstores", Stage: Planned,
		Doc: "marks large outputs that need not stay in a cache",
		Why: "which outputs are in place is known then, and those stay in the cache",
		Run: func(k *kernel.Kernel, _ Options) { StreamStores(k) },
	},
	{
		Name: "contracts", Stage: Planned,
		Doc: "says of matrix products that they are some",
		Why: "last: it depends on all loops of a kernel, and back ends read it instead of looking at them again",
		Run: func(k *kernel.Kernel, _ Options) { NameContract(k) },
	},
}

// Run runs the passes of a stage. A kernel that a pass leaves in another form than its contract says has none any more.
func Run(s Stage, k *kernel.Kernel, o Options) {
	for _, p := range Passes {
		if p.Stage == s && (p.Skip == nil || !p.Skip(o)) {
			p.Run(k, o)
			if k.Contract != nil && k.Contract.Wrong(k) != "" {
				k.Contract = nil
			}
		}
	}
}

// RunFunc runs what the stage Build has for scalar functions.
func RunFunc(f *kernel.Func) {
	DeadCode(f.Body, f.Vals...)
	usesOf(f.Body).coalesceBlock(f.Body)
	renumberFunc(f)
}
