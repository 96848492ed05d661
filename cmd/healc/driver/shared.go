package driver

import (
	"io"
	"slices"

	"healc/codegen/llvm/aot"
)

// library prepares the entries for the kinds that belong to a shared library, once for all of them.
func (e *Emit) library() (*aot.Library, error) {
	if e.lib != nil {
		return e.lib, nil
	}
	if err := e.Load(); err != nil {
		return nil, err
	}
	names, err := Entries(e.module.Program(), e.Entry)
	if err != nil {
		return nil, err
	}
	if err := e.CheckShape(names); err != nil {
		return nil, err
	}
	if e.lib, err = e.module.Library(e.Prefix, names, e.Bindings, e.Ranks...); err != nil {
		return nil, err
	}
	e.lib.Lines = e.Lines
	if len(e.Ranks) > 0 && !e.lib.ForRanks() {
		return nil, &UsageError{Message: "--ranks is for functions with sharded tensors, and there is none",
			Help: "write `sharded(0)` at the type of a parameter, or leave out --ranks"}
	}
	if e.Torch {
		if err := e.module.AddDerivatives(e.lib, e.Bindings); err != nil {
			return nil, err
		}
	}
	if e.TVM {
		if err := e.lib.ForTVM(); err != nil {
			return nil, err
		}
	}
	return e.lib, nil
}

// CheckTVM says that --tvm-ffi is of no use for the kinds that are to be written.
func CheckTVM(kinds []Kind) error {
	if slices.ContainsFunc(kinds, func(k Kind) bool { return k.Binary }) {
		return nil
	}
	return &UsageError{Message: "--tvm-ffi is for machine code of a library", Help: "use --emit so, obj or a"}
}

// MostRanks is for how many ranks there may be code in a library.
const MostRanks = 128

// CheckRanks says what --ranks cannot be, with the kinds that are to be written.
func CheckRanks(ranks []int, kinds []Kind) error {
	if len(ranks) == 0 {
		return nil
	}
	for _, n := range ranks {
		if n < 1 || n > MostRanks {
			return Usagef("--ranks %d is not from 1 to %d", n, MostRanks)
		}
	}
	for _, k := range kinds {
		if !k.ranks {
			return &UsageError{Message: "--ranks is for shared libraries, and not for --emit " + k.Name,
				Help: "use --emit so,header or --emit obj,header"}
		}
	}
	return nil
}

func (e *Emit) so(w io.Writer) error {
	l, err := e.library()
	if err != nil {
		return err
	}
	if _, err := aot.FindLinker(l.Target.Triple); err != nil { // before the work
		return err
	}
	objects, err := aot.Objects(l)
	if err != nil {
		return err
	}
	raw, err := aot.Link(objects, l.Prefix, e.SoName, l.Target.Triple)
	if err != nil {
		return err
	}
	_, err = w.Write(raw)
	return err
}

// joined is one object of a whole library.
func (e *Emit) joined() ([]byte, error) {
	l, err := e.library()
	if err != nil {
		return nil, err
	}
	objects, err := aot.Objects(l)
	if err != nil {
		return nil, err
	}
	return aot.Join(objects)
}

func (e *Emit) obj(w io.Writer) error {
	raw, err := e.joined()
	if err != nil {
		return err
	}
	_, err = w.Write(raw)
	return err
}

func (e *Emit) archive(w io.Writer) error {
	raw, err := e.joined()
	if err != nil {
		return err
	}
	if raw, err = aot.Archive(raw, e.lib.Prefix+".o"); err != nil {
		return err
	}
	_, err = w.Write(raw)
	return err
}

func (e *Emit) pkgConfig(w io.Writer) error {
	if _, err := e.library(); err != nil { // a program that is none has no files
		return err
	}
	_, err := io.WriteString(w, aot.PkgConfig(&e.Beside))
	return err
}

func (e *Emit) cmake(w io.Writer) error {
	if _, err := e.library(); err != nil {
		return err
	}
	_, err := io.WriteString(w, aot.CMake(&e.Beside))
	return err
}

func (e *Emit) header(w io.Writer) error {
	l, err := e.library()
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, aot.Header(l))
	return err
}

func (e *Emit) python(w io.Writer) error {
	l, err := e.library()
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, aot.Python(l, e.Beside.Shared))
	return err
}

func (e *Emit) torch(w io.Writer) error {
	l, err := e.library()
	if err != nil {
		return err
	}
	text, err := aot.Torch(l, e.Python)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text)
	return err
}

// CheckTorch says that operators of PyTorch are nothing without the Python module that they call.
func CheckTorch(kinds []Kind) error {
	has := func(name string) bool { return slices.ContainsFunc(kinds, func(k Kind) bool { return k.Name == name }) }
	if has("torch") && !has("python") {
		return &UsageError{Message: "--emit torch writes operators that call the Python module",
			Help: "add it: --emit so,python,torch"}
	}
	return nil
}

func (e *Emit) golang(w io.Writer) error {
	l, err := e.library()
	if err != nil {
		return err
	}
	text, err := aot.Go(l)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}
