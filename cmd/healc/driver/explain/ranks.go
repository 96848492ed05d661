package explain

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"healc/cmd/healc/driver"
	"healc/codegen/target"
	"healc/internal/engine"
	"healc/internal/scaling"
	"healc/ir/kernel"
	"healc/passes/shard"
	"healc/runtime/abi"
)

// Ranks says for which ranks and machines a program is explained.
type Ranks struct {
	Sizes   []int
	Threads int   // of a rank
	Rounds  int64 // of loops of which the program does not say how often they run
	Network scaling.Network
	Memory  float64 // the bandwidth of the memory of a rank, in bytes a second
}

// ThreadMemory is how many bytes of memory a second a thread gets where nothing else is said: that of balance.
const ThreadMemory = 6e9

// Program writes what each step of a program's entries computes and sends on so many ranks, and how long it takes by
// the model of package scaling; for several numbers of ranks it writes what they have in all, beside each other. All
// shapes have to be known. Without an entry and shapes it is main, as for `healc run`, where there is one.
func (r Ranks) Program(e *driver.Emit, w io.Writer) error {
	if e.Entry == "" && len(e.Shape) == 0 {
		if err := e.Load(); err != nil {
			return err
		}
		if e.Module().Program().Func("main") != nil {
			e.Entry = "main"
		}
	}
	out := bufio.NewWriter(w)
	first := true
	err := e.Each(func(entry string, bind map[string]int64) error {
		f, err := e.Module().Func(entry)
		if err != nil {
			return err
		}
		if err := known(f, bind); err != nil {
			return err
		}
		if !first {
			fmt.Fprintln(out)
		}
		first = false
		return r.entry(e, out, f, bind)
	})
	if ferr := out.Flush(); err == nil {
		err = ferr
	}
	return err
}

// known requires the extents of all parameters: they decide how tensors are cut.
func known(f *engine.Func, bind map[string]int64) error {
	var missing []string
	for _, d := range f.IR().Dims {
		if _, ok := bind[d]; !ok {
			missing = append(missing, d+"=...")
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return &driver.UsageError{Message: "--ranks cuts tensors of known extents, and those of `" + f.IR().Name +
		"` are any", Notes: []string{f.Signature()},
		Help: "give them, as in --shape " + strings.Join(missing, ",") + ", or choose another function with --entry"}
}

func (r Ranks) entry(e *driver.Emit, w *bufio.Writer, f *engine.Func, bind map[string]int64) error {
	machine := target.MachineOf(e.Opts.Target)
	predict := func(n int) (*scaling.Prediction, *kernel.Module, error) {
		s := scaling.Setting{Ranks: n, Threads: r.Threads, Rounds: r.Rounds, Network: r.Network,
			Profile: &machine.Profile.Threads, Memory: r.Memory, Near: float64(machine.L2 * r.Threads)}
		km, err := e.Module().ForRank(shard.Ranks{Rank: s.Rank(), Size: n}).Kernels(f.IR().Name, bind, nil)
		if err != nil {
			return nil, nil, err
		}
		s.Moves = moves(km)
		p, err := scaling.Predict(km.Plan, s)
		return p, km, err
	}
	x := &explanation{w: w}
	x.line("%s", f.Signature())
	x.given(f, e.Shape)
	x.line("  a rank has %s of the profile %s, %s of its memory, and a network of %s and %s",
		driver.Count(r.Threads, "thread"), machine.Profile.Name, rate(r.Memory), rate(r.Network.Bandwidth),
		seconds(r.Network.Latency))
	if len(r.Sizes) > 1 {
		return x.compared(r.Sizes, predict)
	}
	p, km, err := predict(r.Sizes[0])
	if err != nil {
		return err
	}
	if x, err = newExplanation(e, w, km); err != nil {
		return err
	}
	var params []string
	for _, v := range f.IR().Params() {
		params = append(params, v.Name)
	}
	x.name(km.Plan.Funcs[0], params)
	x.line("  rank %d of %d, which has no less to do than others:", p.Rank(), p.Setting.Ranks)
	x.line("")
	x.predicted(p)
	return nil
}

// moves is how many bytes launches of the kernels read and write, each element once.
func moves(km *kernel.Module) func(l *abi.Launch) float64 {
	sums := map[string]float64{}
	for _, k := range km.Kernels {
		c := measureKernel(k)
		for i := range c.reads {
			sums[k.Name] += c.reads[i].at() + c.writes[i].at()
		}
	}
	return func(l *abi.Launch) float64 { return sums[l.Kernel] }
}

// predicted lists the steps of a plan.
func (x *explanation) predicted(p *scaling.Prediction) {
	const columns = 8
	rows := [][]string{{"step", "runs", "sends", "bytes", "gets", "bytes", "each", "all"}}
	for i := range p.Rows {
		r := &p.Rows[i]
		cells := make([]string, columns)
		cells[0] = strings.Repeat("  ", r.Depth) + x.stepName(r.Step)
		cells[1] = strconv.FormatInt(r.Times, 10)
		if r.Ranks != nil {
			t, bound := r.Ranks[p.Rank()], ""
			if r.AtMost {
				bound = "<="
			}
			for k, n := range []int64{t.Sends, t.Sent, t.Receives, t.Received} {
				cells[2+k] = bound + strconv.FormatInt(n, 10)
			}
		}
		if r.Step.If == nil && r.Step.Call == nil {
			cells[6], cells[7] = seconds(r.Time.Total()), seconds(float64(r.Times)*r.Time.Total())
			switch limit := r.Time.Limit(); {
			case r.Step.Loop != nil:
			case r.Hidden > 0:
				cells = append(cells, "hidden: "+seconds(r.Hidden))
			case r.Time.Total() > 0:
				cells = append(cells, limit)
			}
		}
		rows = append(rows, cells)
	}
	x.table(rows)
	x.line("")
	own := p.Ranks[p.Rank()]
	bound := ""
	if p.AtMost {
		bound = "at most "
	}
	x.line("  sends      %s%s in %s", bound, number(float64(own.Sent)).inBytes(), messages(own.Sends))
	x.line("  gets       %s%s in %s", bound, number(float64(own.Received)).inBytes(), messages(own.Receives))
	x.line("  meets      %s, which take %s each", times(p.Meetings), seconds(p.Meeting.Total()))
	x.line("  memory     %s at the peak, with the inputs and what is exchanged", number(float64(p.Memory)).inBytes())
	total := p.Time.Total()
	var parts []string
	for _, part := range p.Time.Parts() {
		parts = append(parts, fmt.Sprintf("%s %s", part.Name, seconds(part.Seconds)))
	}
	x.line("  time       %s: %s", seconds(total), strings.Join(parts, ", "))
	if p.Hidden > 0 {
		x.line("  hidden     %s of exchanges, behind kernels that need nothing of them", seconds(p.Hidden))
	}
	x.line("  limit      %s", p.Time.Limit())
	x.caveats(p)
}

// caveats are what a prediction does not know.
func (x *explanation) caveats(p *scaling.Prediction) {
	if p.AtMost {
		x.line("  What has <= depends on data, and is no more; times are of positions that are spread evenly.")
	}
	if p.Guessed {
		x.line("  Some loops run as often as values say: they count as %s (--rounds), or as often as they may.",
			driver.Count(int(p.Rounds), "round"))
	}
	if p.Open {
		x.line("  Kernels that loop, or call functions that call themselves, as long as data say, count as one round.")
	}
	if p.Unknown {
		x.line("  Steps without bytes and times of their own are not counted: what they send depends on data.")
	}
	if p.Setting.Ranks > 1 && !slices.ContainsFunc(p.Rows, func(r scaling.Row) bool { return r.Ranks != nil }) {
		x.line("  Nothing is sent: what is not sharded, every rank computes.")
	}
}

// compared shows numbers of ranks beside each other, and one rank as what they are faster than.
func (x *explanation) compared(sizes []int, predict func(n int) (*scaling.Prediction, *kernel.Module, error)) error {
	alone, _, err := predict(1)
	if err != nil {
		return err
	}
	rows := [][]string{{"ranks", "sends", "bytes", "memory"}}
	for _, part := range alone.Time.Parts() {
		rows[0] = append(rows[0], part.Name)
	}
	rows[0] = append(rows[0], "time", "speedup", "efficiency", "limit")
	last := alone
	for _, n := range sizes {
		p := alone
		if n > 1 {
			if p, _, err = predict(n); err != nil {
				return err
			}
		}
		most, bound := p.Most(), ""
		if p.AtMost {
			bound = "<="
		}
		cells := []string{strconv.Itoa(n), bound + strconv.FormatInt(most.Sends, 10),
			bound + shortBytes(most.Sent), shortBytes(p.Memory)}
		for _, part := range p.Time.Parts() {
			cells = append(cells, seconds(part.Seconds))
		}
		total, speedup := p.Time.Total(), 1.0
		if total > 0 {
			speedup = alone.Time.Total() / total
		}
		rows = append(rows, append(cells, seconds(total), ratio(speedup),
			fmt.Sprintf("%.0f %%", 100*speedup/float64(n)), p.Time.Limit()))
		last = p
	}
	x.line("")
	x.table(rows)
	x.line("")
	x.line("  sends, bytes: of the rank that sends most. memory: of a rank, with the inputs and what is exchanged.")
	x.caveats(last)
	return nil
}

// table writes rows in columns, of which the first and what is behind the heads of the others begin at the left.
func (x *explanation) table(rows [][]string) {
	var width []int
	for _, r := range rows {
		for k, c := range r {
			if k == len(width) {
				width = append(width, 0)
			}
			width[k] = max(width[k], utf8.RuneCountInString(c))
		}
	}
	for _, r := range rows {
		var b strings.Builder
		for k, c := range r {
			pad := strings.Repeat(" ", width[k]-utf8.RuneCountInString(c))
			switch {
			case k == 0 || k == len(width)-1:
				b.WriteString("  " + c + pad)
			default:
				b.WriteString("  " + pad + c)
			}
		}
		x.line("%s", b.String())
	}
}

// stepName is a step in few words.
func (x *explanation) stepName(s *abi.Step) string {
	switch {
	case s.Launch != nil:
		return "kernel " + s.Launch.Kernel + x.linesOf(x.kernels[s.Launch.Kernel].Notes)
	case s.Host != nil:
		return s.Host.Name + x.lineOf(s.Host.Site)
	case s.Copy != nil:
		return "copy to " + x.names[s.Copy.To]
	case s.Loop != nil:
		return "loop"
	case s.If != nil:
		return "if " + x.names[s.If.Cond] + ": as the longer of both arms"
	case s.Call != nil:
		return "call of " + x.km.Plan.Funcs[s.Call.Func].Name
	}
	return ""
}

// linesOf is the first and the last line of a kernel in the file that is explained.
func (x *explanation) linesOf(notes []kernel.Note) string {
	least, most := 0, 0
	for _, n := range notes {
		if n.At.Valid() && n.At.File.Name == x.home {
			at := n.At.Pos().Line
			if least == 0 || at < least {
				least = at
			}
			most = max(most, at)
		}
	}
	switch {
	case most == 0:
		return ""
	case least == most:
		return fmt.Sprintf(" (line %d)", most)
	}
	return fmt.Sprintf(" (lines %d to %d)", least, most)
}

func messages(n int64) string { return driver.Count(int(n), "message") }

func times(n int64) string { return driver.Count(int(n), "time") }

// seconds is a time in three digits.
func seconds(s float64) string {
	for _, u := range []struct {
		least float64
		unit  string
	}{{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}} {
		if s >= u.least*0.9995 {
			return digits(s/u.least) + " " + u.unit
		}
	}
	if s == 0 {
		return "0"
	}
	return digits(s*1e9) + " ns"
}

// digits are three digits of a number, or all before the point.
func digits(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// rate is a bandwidth.
func rate(b float64) string {
	if b >= 1e9 {
		return digits(b/1e9) + " GB/s"
	}
	return digits(b/1e6) + " MB/s"
}

// shortBytes is a number of bytes in three digits.
func shortBytes(n int64) string {
	v, unit := float64(n), "B"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if v < 1000 {
			break
		}
		v, unit = v/1024, next
	}
	return digits(v) + " " + unit
}
