// Package names says what the names of a program are called in C, C++, Go and Python, so that they never meet a word
// or a name of these, nor one of healc's. It knows nothing but names.
//
// Note [Names]: one rule makes the name of a function, parameter, library or file in another language. A name stays
// as it is, unless it is taken there, alone or with underscores behind it: then it gets one underscore more. So `max`
// may become `max_`, then `max_` becomes `max__`, and no two names become one. What is taken stands in this package:
// the words of each language (words.go), what healc itself puts beside the names of the program, and what the systems
// that read the files look for. Nothing depends on which other names a program has, so a function keeps its name
// when another one comes or goes.
//
// Parts of tuples and instances of generic functions have names with dots in the compiler, as in t.0 and f.f32; a dot
// is an underscore here. An instance is alone in its library, and parts that meet a parameter get underscores (Locals).
//
// What makes sure that names cannot meet where no list is long enough:
//   - Functions in C begin with the name of their library. A library whose name is that of a family of the C library
//     (pthread), or has no small letter as macros have none, counts as taken.
//   - Parameters in C have an underscore behind them in any case: anybody may have defined a macro N, and unix is one.
//   - Functions in Go begin with a capital, and nothing else in their package does (see Go).
//   - What a Python module has beside its functions begins with an underscore, and it calls nothing by another name.
package names

import (
	"fmt"
	"slices"
	"strings"
)

// mark is Note [Names]: an underscore more where the name without those behind it is taken.
func mark(name string, taken func(string) bool) string {
	base := strings.TrimRight(name, "_")
	if base != "" && !taken(base) {
		return name
	}
	if strings.HasPrefix(name, "_") {
		return name + "___" // __all_ and __linux_ would become words with two underscores around them
	}
	return name + "_"
}

// identifier has underscores for what cannot be in a name.
func identifier(name string) string {
	return strings.Map(func(r rune) rune {
		if r < 128 && letter(byte(r)) || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
}

// Own are the functions that each library has of healc, behind the library's name. Those of the header, of runtime.ll,
// threads.ll and stop.ll are these.
var Own = []string{"last_error", "set_threads", "get_threads", "set_parallel_for", "cpu", "use_cpu", "release_memory",
	"stoppable", "interruptible"}

// OfRanks are those that a library for several ranks has beside them, which are in cluster.ll and in mpi.h. They are
// taken in all libraries: a function keeps its name when a library comes to be for several ranks.
var OfRanks = []string{"set_cluster", "block_of", "set_mpi"}

// Tensors is what the name of a function that takes tensors ends in.
const Tensors = "_tensors"

// Into is what the name of a function in Go ends in that has places for its results.
const Into = "Into"

// A FileError says that a file has a name that no library can have.
type FileError struct{ Name string }

func (e *FileError) Error() string {
	return fmt.Sprintf("functions of a library begin with its name, and `%s` cannot begin a name in C", e.Name)
}

// Valid is a name in the manner of `name` that a library can have.
func (e *FileError) Valid() string {
	s := strings.TrimLeft(identifier(e.Name), "_0123456789")
	if s = strings.TrimRight(s, "_"); s != "" {
		return s
	}
	return "lib"
}

// Library is the name of a library, with which its C functions begin, for a file that is called base without its
// ending. Two files with different names never give one. A name that is none in C is a *FileError.
func Library(base string) (string, error) {
	if base == "" || !letter(base[0]) || base[0] == '_' {
		return "", &FileError{base}
	}
	for i := range len(base) {
		if !letter(base[i]) && (base[i] < '0' || base[i] > '9') {
			return "", &FileError{base}
		}
	}
	return mark(base, func(s string) bool {
		family, _, _ := strings.Cut(s, "_")
		return s == strings.ToUpper(s) || cFamilies()[family]
	}), nil
}

func letter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// C is the name of a function of a program in C, and of the library's symbol; with Tensors behind it, of the one that
// takes tensors.
func C(library, name string) string {
	return library + "_" + mark(identifier(name), func(s string) bool {
		return slices.Contains(Own, s) || slices.Contains(OfRanks, s) || strings.HasSuffix(s, Tensors) ||
			s == strings.TrimPrefix(Tensors, "_") ||
			cEndings()[s] || cNames()[library+"_"+s]
	})
}

// TVM is the symbol by which tvm-ffi finds a function. It is the same in every library: who asks has opened one.
func TVM(name string) string { return "__tvm_ffi_" + identifier(name) }

// OwnC is the name that a function of Own has in a library.
func OwnC(library, name string) string { return library + "_" + name }

// Guard is the macro that says that the header of a library was read.
func Guard(library string) string { return "HEAL_LIBRARY_" + library + "_H" }

// Python is the name of a function in a Python module.
func Python(name string) string {
	return mark(identifier(name), func(s string) bool { return s[0] == '_' || pythonWords()[s] || pythonOwn()[s] })
}

// PythonModule is the name of the module for a library. It is no module of Python, or NumPy would import it.
func PythonModule(library string) string {
	return mark(library, func(s string) bool { return s[0] == '_' || pythonWords()[s] || pythonModules()[s] })
}

// Go is the name of a function in a Go package: layer_norm is LayerNorm. Capitals of the program have an underscore
// before them, and so have digits that had one; underscores before anything else stay, and are two. A name that
// begins with a capital or an underscore has an X before it and an underscore behind it. No two become one, and none
// ends in Into.
func Go(name string) string {
	name = identifier(name)
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		c := name[i]
		next := byte(0)
		if i+1 < len(name) {
			next = name[i+1]
		}
		switch {
		case c == '_' && next >= 'a' && next <= 'z':
			b.WriteByte(next - 'a' + 'A')
			i++
		case c == '_' && next >= '0' && next <= '9':
			b.WriteByte('_')
			b.WriteByte(next)
			i++
		case c == '_':
			b.WriteString("__")
		case c >= 'A' && c <= 'Z':
			b.WriteByte('_')
			b.WriteByte(c)
		case i == 0:
			b.WriteByte(c - 'a' + 'A')
		default:
			b.WriteByte(c)
		}
	}
	if name[0] < 'a' || name[0] > 'z' {
		return "X" + b.String() + "_"
	}
	if goOwn()[b.String()] || strings.HasSuffix(b.String(), Into) {
		return b.String() + "_"
	}
	return b.String()
}

// GoPackage is the name of the Go package for a library.
func GoPackage(library string) string {
	return mark(library, func(s string) bool {
		return goWords()[s] || s == "main" || s == "init" || strings.HasSuffix(s, "_test")
	})
}

// GoFile is the name of the file of a Go package, without its ending, for a base name: no file of tests, nor one for
// other systems or processors alone.
func GoFile(base string) string {
	return mark(base, func(s string) bool {
		_, last, cut := cutLast(s, "_")
		return s[0] == '_' || s[0] == '.' || cut && (last == "test" || goSystems()[last])
	})
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// Header is the name of the header of a library without its ending, for a base name: none of the C library's.
func Header(base string) string {
	return mark(base, func(s string) bool { return cHeaders()[s] || strings.HasSuffix(s, "intrin") })
}

// Language is one in which functions have parameters and variables.
type Language int

const (
	InC Language = iota
	InGo
	InPython
)

// Locals are the names of the parameters and variables of one function.
type Locals struct {
	language Language
	taken    map[string]bool
}

// NewLocals is for a function without names yet.
func NewLocals(language Language) *Locals { return &Locals{language, map[string]bool{}} }

// Take is the name of a parameter or variable of the program, by Note [Names], other than those that were taken before.
func (l *Locals) Take(name string) string {
	name = identifier(name)
	switch l.language {
	case InC:
		if name = strings.TrimLeft(name, "_"); name == "" || name[0] >= '0' && name[0] <= '9' {
			name = "x" + name
		}
		name += "_"
	case InGo:
		name = mark(name, func(s string) bool { return goWords()[s] || goLocal()[s] })
	case InPython:
		name = mark(name, func(s string) bool { return s[0] == '_' || pythonWords()[s] || s == "out" })
	}
	for l.taken[name] {
		name += "_"
	}
	l.taken[name] = true
	return name
}
