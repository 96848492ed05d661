package emit

import (
	"path"
	"reflect"
	"slices"
	"strings"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/metadata"

	"healc/codegen/llvm/build"
	"healc/ir/kernel"
	"healc/lang/diag"
	"healc/runtime/abi"
)

// Note [Lines]: code says which line of the source each instruction is for, where somebody asks for it: debuggers,
// profilers and the PTX interpreter show it. Nothing else is said for debuggers. For devices that becomes the .file and
// .loc directives of PTX (DebugDirectivesOnly), for processors the line table of the object (LineTablesOnly). The lines
// come from the operations: kernel.Source has them for each scalar. The code of a statement has the line of its scalar,
// a store that of its value, a check that of its site. Code that belongs to no statement has the line of the kernel,
// which is that of its last scalar.
//
// What stands in a file that another one called, such as the library's, is inlined there for debuggers: its function
// has the name of the file, and the chain of calls is that of diag.Span.Caller. PTX has no word for that in all its
// versions, so there the line is that of the other file alone.
//
// The machine code is the same with and without lines. Functions that kernels of several lines call have none.
//
// Where the code is to be shown beside its source (Places), its lines are the numbers of places, and what belongs to no
// statement has that of the product in a kernel of a matrix product, else no place.

// lines makes the metadata of a module.
type lines struct {
	m      *Module
	unit   *metadata.DICompileUnit
	files  map[string]*metadata.DIFile
	called map[string]*metadata.DISubprogram // functions for files that others call
	kind   *metadata.DISubroutineType
}

// spot is a place in the source. caller is the call in another file, in whose place it stands.
type spot struct {
	file      string
	line, col int
	caller    *spot
}

// functionLines are the lines of one function.
type functionLines struct {
	*lines
	sub     *metadata.DISubprogram
	file    string         // of sub
	chains  bool           // calls in other files count
	places  *kernel.Places // that lines are numbers of; nil: they are lines
	source  kernel.Source
	home    spot
	now     spot
	scopes  map[string]metadata.Field // of the files
	made    map[spot]*metadata.DILocation
	sites   map[spot]*spot       // the callers of sites: equal ones are one
	at      *metadata.Attachment // of atPlace, which was asked for last
	atPlace spot
	done    []stamped // of each block of the function
}

// stamped says what of a block has a place.
type stamped struct {
	instructions int
	end          bool
}

// Define gives metadata a number.
func (m *Module) Define(d metadata.Definition) {
	d.SetID(int64(len(m.M.MetadataDefs)))
	m.M.MetadataDefs = append(m.M.MetadataDefs, d)
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
		l.m.Define(f)
		l.files[name] = f
	}
	return f
}

// FunctionLines begins the lines of the code of a kernel or a scalar function; nil when nothing is known of them. name
// is that of the function that debuggers know, which Of says; home is the place of what belongs to no statement, where
// the code has places.
func (m *Module) FunctionLines(name string, source kernel.Source, home diag.Span) *functionLines {
	f := &functionLines{places: m.Places, source: source, chains: !m.Machine.Device,
		scopes: map[string]metadata.Field{}, made: map[spot]*metadata.DILocation{}, sites: map[spot]*spot{}}
	for _, at := range slices.Backward(source) {
		if at.Valid() {
			f.home = f.spotOf(at)
			break
		}
	}
	if f.home.line > 0 && m.Places != nil {
		f.home = spot{file: f.home.file, line: m.Places.Number(home)}
	}
	if f.home.line == 0 {
		return nil
	}
	outer := f.home
	for outer.caller != nil { // a kernel is of the file that called all others
		outer = *outer.caller
	}
	if m.lines == nil {
		m.beginLines(outer.file)
	}
	f.lines, f.file, f.now = m.lines, outer.file, f.home
	f.sub = f.subprogram(name, f.file, outer.line)
	f.scopes[f.file] = f.sub
	return f
}

// Of says whose lines these are: the function whose code has them, or one in which that is inlined, by a call without a
// line, before anybody looks.
func (f *functionLines) Of(fn *lir.Func) {
	if f != nil {
		fn.Metadata = append(fn.Metadata, &metadata.Attachment{Name: "dbg", Node: f.sub})
	}
}

// beginLines makes what a module has once.
func (m *Module) beginLines(file string) {
	m.lines = &lines{m: m, files: map[string]*metadata.DIFile{}, called: map[string]*metadata.DISubprogram{}}
	types := &metadata.Tuple{MetadataID: -1}
	m.Define(types)
	m.lines.kind = &metadata.DISubroutineType{MetadataID: -1, Types: types}
	m.Define(m.lines.kind)
	emission := enum.EmissionKindLineTablesOnly
	if m.Machine.Device || m.Places != nil {
		emission = enum.EmissionKindDebugDirectivesOnly
	}
	m.lines.unit = &metadata.DICompileUnit{MetadataID: -1, Distinct: true, Language: enum.DwarfLangC99,
		File:     m.lines.fileOf(file),
		Producer: "healc", IsOptimized: true, EmissionKind: emission}
	m.Define(m.lines.unit)
	m.Named("llvm.dbg.cu", m.lines.unit)
	version := &metadata.Tuple{MetadataID: -1, Fields: []metadata.Field{build.Int(build.I32, 2),
		&metadata.String{Value: "Debug Info Version"}, build.Int(build.I32, 3)}}
	m.Define(version)
	m.Named("llvm.module.flags", version)
}

// subprogram is the metadata of a function.
func (l *lines) subprogram(name, file string, line int) *metadata.DISubprogram {
	d := &metadata.DISubprogram{MetadataID: -1, Distinct: true, Name: name, Scope: l.fileOf(file), File: l.fileOf(file),
		Line: int64(line), ScopeLine: int64(line), Type: l.kind, SPFlags: enum.DISPFlagDefinition, Unit: l.unit}
	l.m.Define(d)
	return d
}

// calledFile is the function that stands for a file that another one calls.
func (l *lines) calledFile(name string) *metadata.DISubprogram {
	d := l.called[name]
	if d == nil {
		d = l.subprogram(strings.TrimSuffix(path.Base(name), ".heal"), name, 1)
		l.called[name] = d
	}
	return d
}

// location is the metadata of a place.
func (f *functionLines) location(p spot) *metadata.DILocation {
	if d := f.made[p]; d != nil {
		return d
	}
	d := &metadata.DILocation{MetadataID: -1, Line: int64(p.line), Column: int64(p.col)}
	if p.caller != nil {
		d.Scope, d.InlinedAt = f.calledFile(p.file), f.location(*p.caller)
	} else {
		scope := f.scopes[p.file]
		if scope == nil { // what was inlined from another file
			block := &metadata.DILexicalBlockFile{MetadataID: -1, Scope: f.sub, File: f.fileOf(p.file)}
			f.m.Define(block)
			scope = block
			f.scopes[p.file] = scope
		}
		d.Scope = scope
	}
	f.m.Define(d)
	f.made[p] = d
	return d
}

// atStatement says that the instructions that are generated from now on have the place of s.
func (g *Func) atStatement(s kernel.Stmt) {
	f := g.Lined
	g.stamp()
	if s, ok := s.(*kernel.Let); ok && s.ID < 0 && s.Site < len(g.Km.Sites) && f.places == nil {
		if site := &g.Km.Sites[s.Site]; site.Line > 0 {
			f.now = f.spot(site)
			return
		}
	}
	if at := f.source.Of(s); at.Valid() {
		f.now = f.spotOf(at)
		return
	}
	f.now = f.home
}

// spotOf is a place in the source: its line, or its number.
func (f *functionLines) spotOf(at diag.Span) spot {
	if f.places != nil {
		return spot{file: "places", line: f.places.Number(at)}
	}
	site := kernel.SiteAt(at)
	return f.spot(&site)
}

// spot is the place of a site.
func (f *functionLines) spot(site *abi.Site) spot {
	s := spot{file: site.File, line: site.Line, col: site.Col}
	if site.Caller != nil && f.chains {
		outer := f.spot(site.Caller)
		if same := f.sites[outer]; same != nil {
			s.caller = same
		} else {
			s.caller = &outer
			f.sites[outer] = &outer
		}
	}
	return s
}

// stamp gives the place `now` to the instructions that were generated since the last stamp.
func (g *Func) stamp() {
	f := g.Lined
	for i, b := range g.Fn.Blocks {
		if i == len(f.done) {
			f.done = append(f.done, stamped{})
		}
		done := &f.done[i]
		for ; done.instructions < len(b.Insts); done.instructions++ {
			f.give(b.Insts[done.instructions])
		}
		if !done.end && b.Term != nil {
			done.end = true
			f.give(b.Term)
		}
	}
}

// give gives an instruction the place `now`.
func (f *functionLines) give(x any) {
	if f.at == nil || f.atPlace != f.now {
		f.at, f.atPlace = &metadata.Attachment{Name: "dbg", Node: f.location(f.now)}, f.now
	}
	// Every instruction embeds an ir.Metadata, and there is no interface that sets it.
	m := reflect.ValueOf(x).Elem().FieldByName("Metadata").Addr().Interface().(*lir.Metadata)
	*m = append(*m, f.at)
}

// AtHome gives instructions beside the function's own the line of the kernel.
func (f *functionLines) AtHome(instructions []lir.Instruction, terms ...lir.Terminator) {
	f.now = f.home
	for _, x := range instructions {
		f.give(x)
	}
	for _, x := range terms {
		f.give(x)
	}
}
