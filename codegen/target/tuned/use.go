package tuned

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"healc/ir/kernel"
)

// Use is what a file has for the kernels of a module.
type Use struct {
	Entries map[string]*Entry // by the names of kernels
	Missing []Missing         // the kernels for which it has nothing
}

// Missing is a kernel without an entry.
type Missing struct {
	Name string
	Key
}

// Use is what holds for the kernels of a module on a processor.
func (f *File) Use(km *kernel.Module, processor string) *Use {
	u := &Use{Entries: map[string]*Entry{}}
	for _, k := range km.Kernels {
		key := KeyOf(k, processor)
		if e := f.Find(key); e != nil {
			u.Entries[k.Name] = e
		} else {
			u.Missing = append(u.Missing, Missing{k.Name, key})
		}
	}
	return u
}

// Sets are the sets of the kernels that have one, by their names.
func (u *Use) Sets() map[string]Set {
	out := map[string]Set{}
	for name, e := range u.Entries {
		if len(e.Set) > 0 {
			out[name] = e.Set
		}
	}
	return out
}

// All is nil where every kernel has an entry, else a *MissingError; name is that of the file, "" for none.
func (u *Use) All(file *File) error {
	if len(u.Missing) == 0 {
		return nil
	}
	e := &MissingError{Missing: u.Missing}
	if file != nil {
		e.File = file.Name
	}
	return e
}

// MissingError says that kernels have no entry, where each has to have one.
type MissingError struct {
	File    string // "" where there is none
	Missing []Missing
}

func (e *MissingError) Error() string {
	m := e.Missing[0]
	text := fmt.Sprintf("the kernel %s, for the shapes %s on the processor %s", m.Name, m.Shape, m.Processor)
	if n := len(e.Missing) - 1; n > 0 {
		text += fmt.Sprintf(", and %d more", n)
	}
	if e.File == "" {
		return "there is no tune file, and so no measured schedule for " + text
	}
	return e.File + " has no measured schedule for " + text
}

// Help is what to do about it.
func (e *MissingError) Help() string {
	return "measure it by `healc tune`, with the entry and the inputs or shapes of this run; or require none"
}

// Text is the sets in one text, for what depends on them.
func Text(sets map[string]Set) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		fmt.Fprintf(&b, "%s: %s\n", name, sets[name])
	}
	return b.String()
}
