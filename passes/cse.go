package passes

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"strings"

	"healc/ir"
)

// CSE computes equal operations once: those with the same operation, attributes, operands and regions, in
// the same block or in one around it. Operands of commutative operations may be swapped. An operation
// that can fail fails the first time already.
//
// Requires: nothing; canonicalize first makes more operations equal. Establishes: no operation without
// effects repeats one that is visible to it.
//
//	%0: f32[N] = exp %x
//	%1: f32[N] = exp %x
//	%2: f32[N] = add %0, %1
//
// becomes
//
//	%0: f32[N] = exp %x
//	%1: f32[N] = add %0, %0
func CSE(m *ir.Module, remark Remark) error {
	for _, f := range m.Funcs {
		c := newMerger(m)
		c.block(f.Body)
		if c.merged > 0 {
			remark("merged %d operations of %s", c.merged, ir.FormatSym(f.Name))
		}
	}
	return nil
}

type merger struct {
	m      *ir.Module
	effect *ir.Effects
	with   map[*ir.Value]*ir.Value
	known  map[string]*ir.Op // visible operations by their key
	ids    map[*ir.Value]uint64
	arrays map[uint64][]*ir.Array // constants by the hash of their elements
	bodies map[*ir.Block]bodyKey
	texts  map[string]uint64 // numbers of the bodies, by what they are
	seed   maphash.Seed
	merged int
}

func newMerger(m *ir.Module) *merger {
	return &merger{m: m, effect: ir.NewEffects(m), with: map[*ir.Value]*ir.Value{}, known: map[string]*ir.Op{},
		ids: map[*ir.Value]uint64{}, arrays: map[uint64][]*ir.Array{}, bodies: map[*ir.Block]bodyKey{},
		texts: map[string]uint64{}, seed: maphash.MakeSeed()}
}

func (c *merger) resolve(vs []*ir.Value) {
	for i, v := range vs {
		if w, ok := c.with[v]; ok {
			vs[i] = w
		}
	}
}

func (c *merger) block(b *ir.Block) {
	var mine []string
	kept := b.Ops[:0]
	c.number(b.Params)
	for _, op := range b.Ops {
		c.resolve(op.Args)
		c.regions(op)
		c.number(op.Results)
		if c.effect.Has(op) {
			kept = append(kept, op)
			continue
		}
		key := c.key(op)
		if first, ok := c.known[key]; ok {
			for i, r := range op.Results {
				c.with[r] = first.Results[i]
			}
			c.merged++
			continue
		}
		c.known[key] = op
		mine = append(mine, key)
		kept = append(kept, op)
	}
	b.Ops = kept
	c.resolve(b.Yields)
	for _, k := range mine {
		delete(c.known, k)
	}
}

func (c *merger) regions(op *ir.Op) {
	if len(op.Regions) == 0 {
		return
	}
	outer := c.known
	if op.Def.Class == ir.Fused {
		c.known = map[string]*ir.Op{} // its region sees nothing from outside
	}
	for _, r := range op.Regions {
		c.block(r)
	}
	c.known = outer
}

// id numbers the values that keys mention.
func (c *merger) id(v *ir.Value) uint64 {
	n, ok := c.ids[v]
	if !ok {
		n = uint64(len(c.ids))
		c.ids[v] = n
	}
	return n
}

// number gives values their numbers, which are in the order of definition, before anything mentions them.
func (c *merger) number(vs []*ir.Value) {
	for _, v := range vs {
		c.id(v)
	}
}

// key is equal for equal operations, and different for different ones.
func (c *merger) key(op *ir.Op) string {
	k := &keyWriter{c: c}
	k.op(op)
	return k.b.String()
}

// A bodyKey is equal for regions that do the same with what they read from outside of them, and lists that in the order
// of first use. A region in a region is written once, however deep it is.
type bodyKey struct {
	id      uint64
	outside []*ir.Value
}

// body is the key of a region, which no longer changes.
func (c *merger) body(r *ir.Block) bodyKey {
	if k, ok := c.bodies[r]; ok {
		return k
	}
	k := &keyWriter{c: c, local: map[*ir.Value]int{}, read: map[uint64]int{}}
	k.number('r', uint64(len(r.Params)))
	c.number(r.Params)
	for _, p := range r.Params {
		k.local[p] = len(k.local)
		k.text(p.Type.String())
	}
	for _, op := range r.Ops {
		k.op(op)
		c.number(op.Results)
		for _, res := range op.Results {
			k.local[res] = len(k.local)
		}
	}
	k.values(r.Yields)
	id, ok := c.texts[k.b.String()]
	if !ok {
		id = uint64(len(c.texts))
		c.texts[k.b.String()] = id
	}
	c.bodies[r] = bodyKey{id, k.outside}
	return c.bodies[r]
}

// keyWriter writes an operation without the names of what it defines. In a region, its own values are counted, and so
// are those that it reads from outside.
type keyWriter struct {
	c       *merger
	b       strings.Builder
	local   map[*ir.Value]int
	read    map[uint64]int // outside, by number; nil for an operation alone
	outside []*ir.Value
}

func (k *keyWriter) number(tag byte, n uint64) {
	var buf [binary.MaxVarintLen64]byte
	k.b.WriteByte(tag)
	k.b.Write(buf[:binary.PutUvarint(buf[:], n)])
}

func (k *keyWriter) text(s string) {
	k.number('s', uint64(len(s)))
	k.b.WriteString(s)
}

func (k *keyWriter) values(vs []*ir.Value) {
	k.number('n', uint64(len(vs)))
	for _, v := range vs {
		if n, ok := k.local[v]; ok {
			k.number('l', uint64(n))
			continue
		}
		id := k.c.id(v)
		if k.read == nil {
			k.number('v', id)
			continue
		}
		n, ok := k.read[id]
		if !ok {
			n = len(k.outside)
			k.read[id], k.outside = n, append(k.outside, v)
		}
		k.number('o', uint64(n))
	}
}

func (k *keyWriter) op(op *ir.Op) {
	k.text(op.Def.Name)
	args := op.Args
	if op.Def.Traits.Has(ir.Commutative) && len(args) == 2 && k.before(args[1], args[0]) {
		args = []*ir.Value{args[1], args[0]}
	}
	k.values(args)
	for _, a := range op.Attrs {
		switch a := a.(type) {
		case nil:
			k.text("")
		case *ir.Array:
			k.number('a', k.c.array(a))
		default:
			if a == false {
				k.text("") // a flag that is false is as if it were not given
			} else {
				k.text(ir.FormatAttr(a))
			}
		}
	}
	for _, r := range op.Regions {
		body := k.c.body(r)
		k.number('r', body.id)
		k.values(body.outside)
	}
}

// before orders operands: values of the regions first, in the order of their definition.
func (k *keyWriter) before(x, y *ir.Value) bool {
	m, xLocal := k.local[x]
	n, yLocal := k.local[y]
	if xLocal && yLocal {
		return m < n
	}
	if xLocal != yLocal {
		return xLocal
	}
	return k.c.id(x) < k.c.id(y)
}

// array numbers constants: equal ones have one number.
func (c *merger) array(a *ir.Array) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	h.WriteString(a.Type().String())
	h.WriteString(a.Str)
	var buf [8]byte
	for _, bits := range a.Bits {
		binary.LittleEndian.PutUint64(buf[:], bits)
		h.Write(buf[:])
	}
	// Equal hashes of different constants are told apart by their place in the list. 2^20 of them do not occur.
	sum := h.Sum64() &^ (1<<20 - 1)
	for i, b := range c.arrays[sum] {
		if a.DType == b.DType && a.Str == b.Str && slices.Equal(a.Shape, b.Shape) && slices.Equal(a.Bits, b.Bits) {
			return sum | uint64(i)
		}
	}
	c.arrays[sum] = append(c.arrays[sum], a)
	return sum | uint64(len(c.arrays[sum])-1)
}
