package scaling

import (
	"math/bits"
	"slices"

	"healc/ir/exchange"
	"healc/lang/types"
	"healc/runtime/abi"
	"healc/runtime/collective"
	parts "healc/runtime/exchange"
)

// Traffic is what a rank sends to others and gets of them.
type Traffic struct {
	Sent, Received  int64 // bytes
	Sends, Receives int64 // messages, of which none is empty but what goes from rank to rank in order
}

func (t Traffic) plus(o Traffic, times int64) Traffic {
	return Traffic{t.Sent + times*o.Sent, t.Received + times*o.Received, t.Sends + times*o.Sends,
		t.Receives + times*o.Receives}
}

func most(a, b Traffic) Traffic {
	return Traffic{max(a.Sent, b.Sent), max(a.Received, b.Received), max(a.Sends, b.Sends),
		max(a.Receives, b.Receives)}
}

// moved is an exchange: what each rank has of it, and how many messages follow each other on the rank that waits for
// most of them.
type moved struct {
	ranks  []Traffic
	rounds int64
	busy   int64 // bytes that the rank with most of them sends, or gets, where positions are spread evenly
	memory int64 // that a rank allocates meanwhile
	atMost bool  // what is sent depends on data
}

// settle fills in what the slowest rank moves.
func (m *moved) settle() {
	if m.busy == 0 {
		for _, t := range m.ranks {
			m.busy = max(m.busy, t.Sent, t.Received)
		}
	}
}

// exchanged is what all ranks send by one step of a plan, which is one of their operations; ok is false where it is
// none. All ranks have steps of the same attributes, in the same order.
func (p *predictor) exchanged(f *abi.Function, h *abi.HostCall) (m moved, ok bool) {
	blocks := parts.Blocks{Extent: h.Int("extent"), Block: h.Int("block"), Origin: h.Int("origin")}
	m.ranks = make([]Traffic, p.Ranks)
	if len(h.Args) == 0 {
		return m, false
	}
	x := h.Args[0]
	element := int64(f.Buffers[x.Buffer].DType.Bytes())
	if !rowMajor(x) {
		m.memory = bytesOf(x, element) // it is packed
	}
	lies := func(axis int64) parts.Layout { return parts.LayoutOf(axis, blocks, extents(x.Shape), element) }
	switch h.Name {
	case exchange.Halo.Name:
		l, windows := lies(h.Int("axis")), parts.Windows(h.Ints("windows"))
		m.pairs(func(r int) parts.Counts { return l.HaloCounts(r, windows) }, p.rank())
	case exchange.Gather.Name:
		l := lies(h.Int("axis"))
		m.gathers(l.FetchCounts(p.Ranks, 0, l.Extent), l.Outer > 1)
		if apart := h.Flag("apart"); parts.GathersApart(p.Ranks, apart) && m.rounds > 0 {
			m.rounds, m.busy = parts.GatherRounds(p.Ranks, apart), 0
		}
	case exchange.Fetch.Name: // where it begins depends on data: as much as all ranks get
		l := lies(h.Int("axis"))
		m.fetches(l, h.Int("size"))
	case exchange.AllToAll.Name:
		s := parts.SwapOf(h.Int("axis"), blocks, h.Int("to"), h.Int("to_block"), extents(x.Shape), element)
		m.pairs(func(r int) parts.Counts { return s.Counts(r, p.Ranks) }, p.rank())
	case exchange.Take.Name:
		m.requests(lies(0), bytesOf(h.Args[1], 1))
	case exchange.Sorted.Name:
		var columns []int64
		for _, v := range h.Args {
			columns = append(columns, int64(f.Buffers[v.Buffer].DType.Bytes()))
		}
		m.sorted(extents(x.Shape)[0], blocks, columns)
	case exchange.UpdateRounds.Name:
		m.counts()
	case exchange.Updates.Name:
		width := int64(f.Buffers[h.Args[1].Buffer].DType.Bytes())
		m.updates(blocks, extents(x.Shape)[0], h.Int("size"), width)
	case exchange.FromPrevious.Name:
		for r := 1; r < p.Ranks; r++ {
			m.ranks[r] = Traffic{Received: bytesOf(x, element), Receives: 1}
		}
		m.rounds = int64(p.Ranks - 1) // each waits for the one before
	case exchange.ToNext.Name:
		for r := range p.Ranks - 1 {
			m.ranks[r] = Traffic{Sent: bytesOf(x, element), Sends: 1}
		}
	case exchange.SavePart.Name:
		tensor := h.Args[1]
		element := int64(f.Buffers[tensor.Buffer].DType.Bytes())
		m.writes(parts.LayoutOf(h.Int("axis"), blocks, extents(tensor.Shape), element), p.rank())
	default:
		return m, false
	}
	m.settle()
	return m, true
}

// pairs is an exchange in which ranks send to each other what counts says. A rank takes the others in turn.
func (m *moved) pairs(counts func(rank int) parts.Counts, shown int) {
	n := len(m.ranks)
	for r := range m.ranks {
		c := counts(r)
		rounds := int64(0)
		for k := 1; k < n; k++ {
			to, from := c.To[(r+k)%n], c.From[(r+n-k)%n]
			if to > 0 {
				m.ranks[r].Sent += int64(to)
				m.ranks[r].Sends++
			}
			if from > 0 {
				m.ranks[r].Received += int64(from)
				m.ranks[r].Receives++
			}
			if to > 0 || from > 0 {
				rounds++
			}
		}
		m.rounds = max(m.rounds, rounds)
		if r == shown {
			sends, receives := c.Total()
			m.memory += int64(sends + receives)
		}
	}
}

// gathers is an exchange by which all ranks get the parts of all.
func (m *moved) gathers(counts []int, rearranged bool) {
	all, senders := int64(0), int64(0)
	for _, n := range counts {
		all += int64(n)
		if n > 0 {
			senders++
		}
	}
	others := int64(len(counts) - 1)
	for r, n := range counts {
		t := Traffic{Received: all - int64(n), Receives: senders}
		if n > 0 {
			t = Traffic{Sent: others * int64(n), Received: all - int64(n), Sends: others, Receives: senders - 1}
		}
		m.ranks[r] = t
	}
	m.rounds, m.busy = gathered(len(counts), all, int64(slices.Min(counts)), int64(slices.Max(counts)))
	if rearranged {
		m.memory += all
	}
}

// writes is what ranks exchange for a file of which each writes its part. The time of the disk is not in it.
func (m *moved) writes(l parts.Layout, shown int) {
	n := len(m.ranks)
	can, tag := collective.Opening(n)
	all := []moved{{ranks: make([]Traffic, n)}, {ranks: make([]Traffic, n)}}
	all[0].gathers(can, false)
	all[1].gathers(tag, false)
	for _, b := range collective.Bands(l, n) {
		one := moved{ranks: make([]Traffic, n)}
		one.pairs(func(r int) parts.Counts { return b.Counts(r, n) }, shown)
		all = append(all, one)
	}
	for _, one := range all {
		one.settle()
		for r := range m.ranks {
			m.ranks[r] = m.ranks[r].plus(one.ranks[r], 1)
		}
		m.rounds, m.busy, m.memory = m.rounds+one.rounds, m.busy+one.busy, max(m.memory, one.memory)
	}
}

// fetches is an exchange by which all ranks get a run of an axis, which some of them have.
func (m *moved) fetches(l parts.Layout, size int64) {
	bytes := l.Outer * size * l.Inner
	holders := min((size+l.Block-2)/l.Block+1, int64(len(m.ranks)))
	others := int64(len(m.ranks) - 1)
	if bytes == 0 {
		return
	}
	for r := range m.ranks {
		own := l.Outer * min(size, l.Len(r)) * l.Inner
		m.ranks[r] = Traffic{Sent: others * own, Received: bytes, Receives: min(holders, others)}
		if own > 0 {
			m.ranks[r].Sends = others
		}
	}
	m.rounds, m.busy = gathered(len(m.ranks), bytes, 0, l.Outer*min(size, l.Block)*l.Inner)
	m.atMost = true
	if l.Outer > 1 {
		m.memory += bytes
	}
}

// requests is an exchange by which each rank asks the others for rows at positions, of which it has so many: it says
// how many it asks each for, in all and, where there are several rounds, in each, and then in each round which they
// are, and gets them. It is at most this, where all that a rank asks for, and is asked for, is on other ranks.
func (m *moved) requests(l parts.Layout, positions int64) {
	const word = 8
	others := int64(len(m.ranks) - 1)
	rounds, position := parts.RequestRounds(positions, l.Inner), l.RequestBytes()
	words, counts := int64(2*word), int64(1)
	if rounds > 1 {
		words, counts = words+rounds*word, 2
	}
	for r := range m.ranks {
		asked := positions
		if others == 0 {
			asked = 0
		}
		heard := others * asked
		if l.Len(r) == 0 {
			heard = 0
		}
		messages := counts*others + min(rounds*others, asked) + min(rounds*others, heard)
		m.ranks[r] = Traffic{Sent: words*others + position*asked + l.Inner*heard,
			Received: words*others + position*heard + l.Inner*asked,
			Sends:    messages, Receives: messages}
	}
	m.rounds, m.atMost = (counts+2*rounds)*others, true
	m.busy = words*others + (position+l.Inner)*positions*others/(others+1)
	m.memory += min(positions, parts.RequestRun(l.Inner)) * 2 * (position + l.Inner) // heard as asked, if it is even
}

// sorted is an exchange by which each rank gets its block of rows that are sorted: splitters are found in rounds, from
// samples that are sent to the rank of each and from what that says of them, and then columns are moved, of elements of
// so many bytes. It is at most this where nothing stays on its rank, and about this many rounds.
func (m *moved) sorted(rows int64, b parts.Blocks, columns []int64) {
	const word = 8
	others := int64(len(m.ranks) - 1)
	if others == 0 || rows == 0 || b.Extent == 0 {
		return
	}
	rounds := sortRounds(b.Extent)
	each := rounds*(word*rows*parts.MostSamples+2*word*rows+1) + word*rows // to each other rank
	calls := 2*rounds + 1 + int64(len(columns))
	element := int64(0)
	for _, n := range columns {
		element += n
	}
	for r := range m.ranks {
		part := rows * b.Len(r) * element
		m.ranks[r] = Traffic{Sent: others*each + part, Received: others*each + part, Sends: others * calls,
			Receives: others * calls}
	}
	m.rounds, m.atMost = others*calls, true
	m.busy = others*each + rows*b.Block*element*others/(others+1)
	m.memory += others * each / rounds
	if rows > 1 {
		m.memory += 2 * rows * b.Block * element
	}
}

// counts is an exchange by which each rank says how much it has for each other, and then all how much they get.
func (m *moved) counts() {
	const word = 8
	others := int64(len(m.ranks) - 1)
	rounds, bytes := gathered(len(m.ranks), word*int64(len(m.ranks)), word, word)
	for r := range m.ranks {
		m.ranks[r] = Traffic{Sent: 2 * word * others, Received: 2 * word * others, Sends: 2 * others,
			Receives: 2 * others}
	}
	m.rounds, m.busy = others+rounds, word*others+bytes
}

// updates is a round in which each rank gets so many positions and values of so many bytes at most, of which it has
// some for others: it says how many, in all and, where there are several pieces, in each, and is told which; then they
// are sent, positions and values. It is at most this, where all is for other ranks.
func (m *moved) updates(b parts.Blocks, positions, size, width int64) {
	const word = 8
	others := int64(len(m.ranks) - 1)
	if others == 0 {
		return
	}
	pieces, each := parts.RequestRounds(positions, width), b.RequestBytes()+width
	words, counts := 4*word*others, int64(3)
	if pieces > 1 {
		words, counts = words+pieces*word*others, 4
	}
	for r := range m.ranks {
		m.ranks[r] = Traffic{Sent: words + positions*each, Received: words + size*each,
			Sends:    counts*others + 2*min(pieces*others, positions),
			Receives: counts*others + 2*min(pieces*others, size)}
	}
	m.rounds, m.atMost = (counts+2*pieces)*others, true
	m.busy = words + positions*each*others/(others+1)
	m.memory += min(positions, parts.RequestRun(width)) * 2 * each // as many come as go, if it is even
}

// sortRounds is how many rounds splitters of rows of n elements take: each leaves less than a sixteenth of the places
// where one may be.
func sortRounds(n int64) int64 { return int64(bits.Len64(uint64(n))+3) / 4 }

func extents(shape []types.Dim) []int64 {
	out := make([]int64, len(shape))
	for k, d := range shape {
		n, ok := d.Const()
		if !ok {
			panic("BUG: extents are known where parts are exchanged")
		}
		out[k] = n
	}
	return out
}

// bytesOf is how many bytes the elements of a view have, each so many.
func bytesOf(v abi.View, element int64) int64 {
	for _, n := range extents(v.Shape) {
		element *= n
	}
	return element
}

// rowMajor reports whether elements lie one behind the other.
func rowMajor(v abi.View) bool {
	next := int64(1)
	shape := extents(v.Shape)
	for k := len(shape) - 1; k >= 0; k-- {
		if s, ok := v.Strides[k].Const(); shape[k] != 1 && (!ok || s != next) {
			return false
		}
		next *= shape[k]
	}
	return true
}
