package kernel

import (
	"fmt"

	"healc/ir/scalar"
)

// A Visitor sees what statements are made of: the scalars they read and define, their accesses to buffers, and the
// blocks in them. It may change what it is shown. A function that is nil sees nothing.
type Visitor struct {
	Read   func(r *Ref)
	Define func(r *Ref)
	Access func(a *Access) // before its variables are read
	Block  func(b *Block)
}

// All visits the statements of a block and of the blocks in it, each in its place. v.Block is not called.
func (v Visitor) All(b *Block) {
	v.Block = v.All
	for _, st := range b.Stmts {
		v.Stmt(st)
	}
}

// Stmt visits the parts of one statement, in the order in which they are evaluated. It enters no block.
func (v Visitor) Stmt(st Stmt) {
	switch st := st.(type) {
	case *Let:
		v.readList(st.In.Args[:])
		v.define(&st.ID)
	case *DimValue:
		v.define(&st.ID)
	case *Load:
		v.access(&st.At)
		v.define(&st.ID)
	case *Store:
		v.access(&st.At)
		v.read(&st.Val)
	case *Loop:
		v.readList(st.Init)
		v.define(&st.Axis.Var)
		v.defineList(st.Vars)
		v.blocks(st.Body)
		v.readList(st.Next)
		v.defineList(st.IDs)
	case *Iterate:
		v.read(&st.Count)
		v.readList(st.Init)
		v.define(&st.Var)
		v.defineList(st.Vars)
		v.blocks(st.Body)
		v.readList(st.Next)
		v.read(&st.Until)
		v.defineList(st.IDs)
	case *Reduce:
		v.read(&st.Chunk)
		for i := range st.Axes {
			v.define(&st.Axes[i].Var)
		}
		v.blocks(st.Body)
		v.read(&st.Val)
		v.define(&st.ID)
	case *If:
		v.read(&st.Cond)
		v.blocks(st.Then)
		v.readList(st.ThenVals)
		v.blocks(st.Else)
		v.readList(st.ElseVals)
		v.defineList(st.IDs)
	case *Call:
		v.readList(st.Args)
		v.defineList(st.IDs)
	case *Transform:
		for _, l := range st.Lines() {
			v.access(&l.At)
		}
		v.read(&st.P)
		v.read(&st.Scale)
		v.define(&st.ID)
	case *Sort:
		for _, l := range st.Lines() {
			v.access(&l.At)
		}
		for i := range st.Ranks {
			v.read(&st.Ranks[i].First)
			v.read(&st.Ranks[i].End)
		}
	default:
		panic(fmt.Sprintf("BUG: no visit of %T", st))
	}
}

func (v Visitor) read(r *Ref) {
	if v.Read != nil && *r != scalar.None {
		v.Read(r)
	}
}

func (v Visitor) readList(refs []Ref) {
	for i := range refs {
		v.read(&refs[i])
	}
}

func (v Visitor) define(r *Ref) {
	if v.Define != nil && *r != scalar.None {
		v.Define(r)
	}
}

func (v Visitor) defineList(refs []Ref) {
	for i := range refs {
		v.define(&refs[i])
	}
}

func (v Visitor) access(a *Access) {
	if v.Access != nil {
		v.Access(a)
	}
	for i := range a.Terms {
		v.read(&a.Terms[i].Var)
	}
}

func (v Visitor) blocks(bs ...*Block) {
	for _, b := range bs {
		if v.Block != nil {
			v.Block(b)
		}
	}
}
