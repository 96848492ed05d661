// Package scaling predicts what a program costs on several ranks before there are machines: what each step of its plan
// computes and sends, how long that takes by a model, and which part of the model is the limit.
//
// In: the plan of one rank, and numbers of the network and of the processor. Out: rows, one for each step. What is sent
// is counted by the functions that the exchanges themselves use (runtime/exchange), so it is exact where it does not
// depend on data. Times are estimates: kernels by what the profile of the processor says about operations and bytes,
// and messages by a latency and a bandwidth (Network). Steps follow each other, but for kernels that run while what
// others need is on its way (hidden). What is larger than the near caches comes from memory each time.
package scaling

import (
	"encoding/binary"
	"slices"

	"healc/codegen/target/profile"
	"healc/ir/exchange"
	"healc/runtime"
	"healc/runtime/abi"
	parts "healc/runtime/exchange"
)

// Setting is what a prediction is for.
type Setting struct {
	Ranks   int
	Threads int   // of a rank
	Rounds  int64 // of loops of which the plan does not say how often they run
	Network Network
	Profile *profile.Threads

	// Moves is how many bytes a launch reads and writes, each element once. Where that is more than Near, they come
	// from memory, of which a rank gets Memory bytes a second.
	Moves  func(l *abi.Launch) float64
	Near   float64
	Memory float64
}

// Rank is whose plan a prediction is made of: one in the middle, which has neighbours on both sides and no less to do
// than others.
func (s Setting) Rank() int { return (s.Ranks - 1) / 2 }

// Time is how long something takes, in seconds, by what bounds it.
type Time struct {
	Arithmetic, Memory float64 // of kernels, by which of the two takes longer
	Bandwidth, Latency float64 // of messages
}

// Total is the sum.
func (t Time) Total() float64 { return t.Arithmetic + t.Memory + t.Bandwidth + t.Latency }

func (t Time) plus(o Time, times float64) Time {
	return Time{t.Arithmetic + times*o.Arithmetic, t.Memory + times*o.Memory, t.Bandwidth + times*o.Bandwidth,
		t.Latency + times*o.Latency}
}

// Part is a part of a time.
type Part struct {
	Name    string
	Seconds float64
}

// Parts are the four of them.
func (t Time) Parts() []Part {
	return []Part{{"arithmetic", t.Arithmetic}, {"memory bandwidth", t.Memory}, {"network bandwidth", t.Bandwidth},
		{"network latency", t.Latency}}
}

// Limit is what takes the largest part of the time.
func (t Time) Limit() string {
	limit := Part{Name: "nothing"}
	for _, p := range t.Parts() {
		if p.Seconds > limit.Seconds {
			limit = p
		}
	}
	return limit.Name
}

// Row is a step of the plan.
type Row struct {
	Depth    int // in how many loops and choices it is
	Step     *abi.Step
	Function int       // of the plan
	Times    int64     // how often it runs in all
	Guessed  bool      // how often is not known, or at most so often
	Time     Time      // of one run, in order from rank to rank where it has to be
	Hidden   float64   // of the time of one run of an exchange, behind kernels: not in Time
	Ranks    []Traffic // of one run, by rank; nil for what sends nothing
	AtMost   bool      // what is sent depends on data
}

// callMeetings is how often ranks meet in a call that does not fail: they tell each other a few words where it begins,
// twice, and where it ends (Note [Ranks] in internal/engine).
const callMeetings = 3

// Prediction is what a program costs.
type Prediction struct {
	Setting
	Rows     []Row
	Ranks    []Traffic // in all, by rank
	Time     Time
	Hidden   float64 // of exchanges, behind kernels that need nothing of them: not in Time
	Meetings int64   // of a call that writes no files; in Time, but not in Ranks
	Meeting  Time    // of one
	Memory   int64   // of a rank: inputs, results, temporary buffers, constants, and what exchanges allocate
	AtMost   bool    // what is sent depends on data
	Guessed  bool    // so does how often loops run
	Open     bool    // kernels loop, or call themselves, as long as data say: they count as one round
	Unknown  bool    // there are steps of which the model knows nothing: functions that call themselves
}

// Most is what the rank sends, and gets, that does most of it.
func (p *Prediction) Most() Traffic {
	var out Traffic
	for _, t := range p.Ranks {
		out = most(out, t)
	}
	return out
}

// Predict is what the plan of rank s.Rank() says about all of them.
func Predict(plan *abi.Program, s Setting) (*Prediction, error) {
	memory, err := runtime.MemoryOf(plan, nil)
	if err != nil {
		return nil, err
	}
	p := &predictor{Setting: s, plan: plan}
	entry := plan.Funcs[0]
	sum := p.steps(entry, 0, entry.Steps, nil, 0, 1)
	rounds, _ := gathered(s.Ranks, 1, 0, 0)
	meeting := Time{Latency: float64(rounds) * s.Network.Latency}
	sum.time = sum.time.plus(meeting, callMeetings)
	out := &Prediction{Meetings: callMeetings, Meeting: meeting,
		Setting: s, Rows: p.rows, Ranks: sum.ranks, Time: sum.time, Memory: memory.Total() + p.memory,
		AtMost: sum.atMost, Guessed: p.guessed, Unknown: p.unknown, Open: p.open,
		Hidden: p.hides}
	for _, b := range entry.Params {
		n := int64(entry.Buffers[b].DType.Bytes())
		for _, e := range entry.Buffers[b].Shape {
			n *= extent(e)
		}
		out.Memory += n
	}
	return out, nil
}

// predictor goes through the steps of a plan.
type predictor struct {
	Setting
	plan             *abi.Program
	rows             []Row
	memory           int64 // the most that an exchange allocates
	guessed, unknown bool
	open             bool
	hides            float64
}

func (p *predictor) rank() int { return p.Rank() }

// sum is what steps cost.
type sum struct {
	ranks  []Traffic
	time   Time
	atMost bool
}

func (a *sum) add(b sum, times int64) {
	a.time = a.time.plus(b.time, float64(times))
	a.atMost = a.atMost || b.atMost
	for r, t := range b.ranks {
		a.ranks[r] = a.ranks[r].plus(t, times)
	}
}

// steps is what a list of steps costs that runs so often in all, once. Between what a rank gets from the one before it
// and what it sends to the next, all others wait. The next run of a loop has the buffers handed on.
func (p *predictor) steps(f *abi.Function, index int, steps []abi.Step, handed []int, depth int, times int64) sum {
	all := sum{ranks: make([]Traffic, p.Ranks)}
	inOrder := int64(1)
	for i := range steps {
		s := &steps[i]
		row := Row{Depth: depth, Step: s, Function: index, Times: times}
		var one sum
		switch {
		case s.Launch != nil:
			one.time = p.launch(s.Launch)
			row.Guessed = s.Launch.Open
			p.open = p.open || s.Launch.Open
		case s.Copy != nil:
			element := int64(f.Buffers[s.Copy.To].DType.Bytes())
			one.time.Memory = p.copied(2 * float64(bytesOf(s.Copy.From, element)))
		case s.Host != nil:
			m, ok := p.exchanged(f, s.Host)
			p.unknown = p.unknown || !ok && exchange.Is(s.Host.Name) && p.Setting.Ranks > 1
			if ok {
				row.Ranks, row.AtMost = m.ranks, m.atMost
				p.memory = max(p.memory, m.memory)
				one = sum{ranks: m.ranks, atMost: m.atMost, time: p.message(s.Host.Name, m)}
				if sent := one.time.Total(); sent > 0 {
					row.Hidden = min(p.hidden(f, steps, handed, i), sent)
					one.time = Time{}.plus(one.time, 1-row.Hidden/sent)
					p.hides += float64(times) * row.Hidden
				}
			}
			switch s.Host.Name {
			case exchange.FromPrevious.Name:
				inOrder = int64(p.Ranks)
			case exchange.ToNext.Name:
				inOrder = 1
			}
		case s.Loop != nil:
			at := len(p.rows)
			p.rows = append(p.rows, row)
			n, known := count(f, s.Loop)
			if !known {
				n = p.Setting.Rounds
			}
			guessed := !known || s.Loop.Until >= 0
			p.guessed = p.guessed || guessed
			body := p.steps(f, index, s.Loop.Body, s.Loop.Handed(), depth+1, times*n)
			all.add(body, n)
			p.rows[at].Guessed = guessed
			p.rows[at].Time = Time{}.plus(body.time, float64(n))
			continue
		case s.If != nil:
			p.rows = append(p.rows, row)
			then := p.steps(f, index, s.If.Then, nil, depth+1, times)
			other := p.steps(f, index, s.If.Else, nil, depth+1, times)
			all.add(p.either(then, other), 1)
			continue
		case s.Call != nil:
			p.unknown = true
		default:
			continue
		}
		if s.Host != nil && len(s.Host.Args) == 0 { // where a part begins
			continue
		}
		if inOrder > 1 && s.Host == nil {
			one.time = Time{}.plus(one.time, float64(inOrder))
		}
		row.Time = one.time
		p.rows = append(p.rows, row)
		all.add(one, 1)
	}
	return all
}

// either is at most what one of two arms costs.
func (p *predictor) either(a, b sum) sum {
	out := sum{ranks: make([]Traffic, p.Ranks), time: a.time, atMost: a.atMost || b.atMost}
	if b.time.Total() > a.time.Total() {
		out.time = b.time
	}
	for r := range out.ranks {
		out.ranks[r] = most(a.ranks[r], b.ranks[r])
		out.atMost = out.atMost || a.ranks[r] != b.ranks[r]
	}
	return out
}

// launch is how long a kernel takes, by the estimates by which the runtime splits it among threads, and not less than
// its elements take from memory.
func (p *predictor) launch(l *abi.Launch) Time {
	indices := extent(l.Outer)
	if l.Tasks > 0 {
		indices = l.Tasks
	}
	threads := float64(min(max(indices/l.Grain(p.Profile), 1), int64(p.Threads)))
	operations := float64(indices) * float64(l.Work) * float64(p.Profile.OpTime) / 1e12 / threads
	bytes := float64(indices) * float64(l.Bytes) * float64(p.Profile.ByteTime) / 1e12 / threads
	if moved := p.Moves(l); moved > p.Near {
		bytes = max(bytes, moved/p.Setting.Memory)
	}
	if operations > bytes {
		return Time{Arithmetic: operations}
	}
	return Time{Memory: bytes}
}

// hidden is how long the kernels take that run while exchange i is on its way: those that follow and touch nothing of
// it, and the next one between its edges (Note [Halves] in runtime).
func (p *predictor) hidden(f *abi.Function, steps []abi.Step, handed []int, i int) float64 {
	h := steps[i].Host
	apart := h.Name == exchange.Gather.Name && parts.GathersApart(p.Ranks, h.Flag("apart"))
	if h.Name != exchange.Halo.Name && !apart {
		return 0
	}
	touches := func(l *abi.Launch) bool {
		return l != nil && slices.ContainsFunc(h.Out, func(b int) bool { return slices.Contains(l.Args, b) })
	}
	time, next := 0.0, i+1
	for ; next < len(steps) && steps[next].Launch != nil && !touches(steps[next].Launch); next++ {
		time += p.launch(steps[next].Launch).Total()
	}
	if !slices.ContainsFunc(steps[next:], func(s abi.Step) bool { return touches(s.Launch) }) &&
		!slices.ContainsFunc(h.Out, func(b int) bool { return slices.Contains(handed, b) }) {
		return 0 // it is waited for at once
	}
	if next == len(steps) {
		return time
	}
	if l := steps[next].Launch; l != nil && l.Tasks == 0 {
		n := extent(l.Outer)
		begin, end := int64(0), n
		for _, b := range h.Out {
			if !slices.Contains(l.Args, b) {
				continue
			}
			k := slices.IndexFunc(l.Edges, func(e abi.Edge) bool { return e.Buffer == b })
			if k < 0 {
				return time
			}
			begin, end = max(begin, l.Edges[k].First), min(end, n-l.Edges[k].Last)
		}
		time += p.launch(l).Total() * float64(max(end-begin, 0)) / float64(max(n, 1))
	}
	return time
}

// copied is how long a copy takes that reads and writes so many bytes.
func (p *predictor) copied(bytes float64) float64 {
	near := bytes * float64(p.Profile.ByteTime) / 1e12
	if bytes > p.Near {
		return max(near, bytes/p.Setting.Memory)
	}
	return near
}

// message is how long an exchange takes: as long as the rank that does most.
func (p *predictor) message(name string, m moved) Time {
	if name == exchange.ToNext.Name { // the time is that of the rank that waits for it
		return Time{}
	}
	t := Time{Latency: float64(m.rounds) * p.Network.Latency, Bandwidth: float64(m.busy) / p.Network.Bandwidth}
	if name == exchange.FromPrevious.Name {
		t.Bandwidth *= float64(m.rounds)
	}
	return t
}

// count is how often a loop runs, at most where it may end before; known is false where that is computed.
func count(f *abi.Function, l *abi.Loop) (n int64, known bool) {
	b := &f.Buffers[l.Count]
	if b.Kind != abi.Data || len(b.Bytes) != 4 {
		return 0, false
	}
	return int64(max(int32(binary.LittleEndian.Uint32(b.Bytes)), 0)), true
}

func extent(e abi.Extent) int64 {
	n, ok := e.Dim.Const()
	if !ok {
		panic("BUG: extents are known where tensors are cut")
	}
	return max(n+max(e.Div, 1)-1, 0) / max(e.Div, 1)
}
