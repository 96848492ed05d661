package emit

import (
	"reflect"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/metadata"

	"healc/codegen/llvm/build"
	"healc/ir/kernel"
)

// Note [Lines]: code for devices says which line of the source each instruction is for, so that profilers and the PTX
// interpreter show it. It is all the debugging information that there is (DebugDirectivesOnly), and becomes the .file
// and .loc directives of PTX. The lines come from the operations: kernel.Source has them for each scalar. The code of a
// statement has the line of its scalar, a store that of its value, a check that of its site. Code that belongs to no
// statement has the line of the kernel, which is that of its last scalar.

// lines makes the metadata of a module.
type lines struct {
	m     *lir.Module
	unit  *metadata.DICompileUnit
	files map[string]*metadata.DIFile
	kind  *metadata.DISubroutineType
}

// spot is a place in the source.
type spot struct {
	file      string
	line, col int
}

// functionLines are the lines of one function.
type functionLines struct {
	*lines
	sub    *metadata.DISubprogram
	file   string // of sub
	source kernel.Source
	home   spot
	now    spot
	scopes map[string]metadata.Field // of the files
	made   map[spot]*metadata.DILocation
	done   []int // of each block of the function: the instructions that have a line; the terminator is one more
}

// define gives metadata a number.
func (l *lines) define(d metadata.Definition) {
	d.SetID(int64(len(l.m.MetadataDefs)))
	l.m.MetadataDefs = append(l.m.MetadataDefs, d)
}

// Named adds a node to metadata with a name.
func (m *Module) Named(name string, node metadata.Node) {
	if m.M.NamedMetadataDefs == nil {
		m.M.NamedMetadataDefs = map[string]*metadata.NamedDef{}
	}
	def := m.M.NamedMetadataDefs[name]
	if def == nil {
		def = &metadata.NamedDef{Name: name}
		m.M.NamedMetadataDefs[name] = def
	}
	def.Nodes = append(def.Nodes, node)
}

// fileOf is the metadata of a file.
func (l *lines) fileOf(name string) *metadata.DIFile {
	f := l.files[name]
	if f == nil {
		f = &metadata.DIFile{MetadataID: -1, Filename: name}
		l.define(f)
		l.files[name] = f
	}
	return f
}

// FunctionLines begins the lines of fn; nil when nothing is known of them.
func (m *Module) FunctionLines(fn *lir.Func, source kernel.Source) *functionLines {
	f := &functionLines{source: source, scopes: map[string]metadata.Field{}, made: map[spot]*metadata.DILocation{}}
	for _, at := range source {
		if at.Valid() {
			p := at.Pos()
			f.home = spot{p.File, p.Line, p.Col}
		}
	}
	if f.home.line == 0 {
		return nil
	}
	if m.lines == nil {
		m.lines = &lines{m: m.M, files: map[string]*metadata.DIFile{}}
		types := &metadata.Tuple{MetadataID: -1}
		m.lines.define(types)
		m.lines.kind = &metadata.DISubroutineType{MetadataID: -1, Types: types}
		m.lines.define(m.lines.kind)
		m.lines.unit = &metadata.DICompileUnit{MetadataID: -1, Distinct: true, Language: enum.DwarfLangC99,
			File:     m.lines.fileOf(f.home.file),
			Producer: "healc", IsOptimized: true, EmissionKind: enum.EmissionKindDebugDirectivesOnly}
		m.lines.define(m.lines.unit)
		m.Named("llvm.dbg.cu", m.lines.unit)
		version := &metadata.Tuple{MetadataID: -1, Fields: []metadata.Field{build.Int(build.I32, 2),
			&metadata.String{Value: "Debug Info Version"}, build.Int(build.I32, 3)}}
		m.lines.define(version)
		m.Named("llvm.module.flags", version)
	}
	f.lines, f.file, f.now = m.lines, f.home.file, f.home
	f.sub = &metadata.DISubprogram{MetadataID: -1, Distinct: true, Name: fn.Name(), Scope: f.fileOf(f.file),
		File: f.fileOf(f.file), Line: int64(f.home.line),
		ScopeLine: int64(f.home.line), Type: f.kind, SPFlags: enum.DISPFlagDefinition, Unit: f.unit}
	f.define(f.sub)
	f.scopes[f.file] = f.sub
	fn.Metadata = append(fn.Metadata, &metadata.Attachment{Name: "dbg", Node: f.sub})
	return f
}

// location is the metadata of a place.
func (f *functionLines) location(p spot) *metadata.DILocation {
	if d := f.made[p]; d != nil {
		return d
	}
	scope := f.scopes[p.file]
	if scope == nil { // what was inlined from another file
		block := &metadata.DILexicalBlockFile{MetadataID: -1, Scope: f.sub, File: f.fileOf(p.file)}
		f.define(block)
		scope = block
		f.scopes[p.file] = scope
	}
	d := &metadata.DILocation{MetadataID: -1, Line: int64(p.line), Column: int64(p.col), Scope: scope}
	f.define(d)
	f.made[p] = d
	return d
}

// atStatement says that the instructions that are generated from now on have the place of s.
func (g *Func) atStatement(s kernel.Stmt) {
	f := g.Lined
	g.stamp()
	r := kernel.Ref(-1)
	first := func(refs []kernel.Ref) {
		if len(refs) > 0 {
			r = refs[0]
		}
	}
	switch s := s.(type) {
	case *kernel.Let:
		if r = s.ID; r < 0 && s.Site < len(g.Km.Sites) {
			if site := g.Km.Sites[s.Site]; site.Line > 0 {
				f.now = spot{site.File, site.Line, site.Col}
				return
			}
		}
	case *kernel.DimValue:
		r = s.ID
	case *kernel.Load:
		r = s.ID
	case *kernel.Store:
		r = s.Val
	case *kernel.Reduce:
		r = s.ID
	case *kernel.Loop:
		r = s.Axis.Var
		first(s.IDs)
	case *kernel.Iterate:
		r = s.Var
		first(s.IDs)
	case *kernel.If:
		r = s.Cond
		first(s.IDs)
	case *kernel.Call:
		first(s.IDs)
	}
	if at := f.source.At(r); at.Valid() {
		p := at.Pos()
		f.now = spot{p.File, p.Line, p.Col}
		return
	}
	f.now = f.home
}

// stamp gives the place `now` to the instructions that were generated since the last stamp.
func (g *Func) stamp() {
	f := g.Lined
	var at *metadata.Attachment
	give := func(x any) {
		if at == nil {
			at = &metadata.Attachment{Name: "dbg", Node: f.location(f.now)}
		}
		// Every instruction embeds an ir.Metadata, and there is no interface that sets it.
		m := reflect.ValueOf(x).Elem().FieldByName("Metadata").Addr().Interface().(*lir.Metadata)
		*m = append(*m, at)
	}
	for i, b := range g.Fn.Blocks {
		if i == len(f.done) {
			f.done = append(f.done, 0)
		}
		for ; f.done[i] < len(b.Insts); f.done[i]++ {
			give(b.Insts[f.done[i]])
		}
		if f.done[i] == len(b.Insts) && b.Term != nil {
			f.done[i]++ // nothing is added to a block that has ended
			give(b.Term)
		}
	}
}
