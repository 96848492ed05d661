package tuned

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"healc/codegen/target/profile"
)

// Set is numbers of a profile by their names: those in which the profile of one kernel differs from that of the
// processor. None is the profile as it is.
type Set map[string]int

// On is a profile with the numbers of the set.
func (s Set) On(p *profile.Profile) *profile.Profile {
	if len(s) == 0 {
		return p
	}
	out := p.Clone()
	for name, x := range s {
		if err := profile.FieldNamed(name).Set(out, x); err != nil {
			panic("BUG: " + err.Error()) // check has seen it
		}
	}
	return out
}

// Names are the names of the numbers, sorted.
func (s Set) Names() []string { return slices.Sorted(maps.Keys(s)) }

// String is the numbers as a profile has them.
func (s Set) String() string {
	if len(s) == 0 {
		return "the profile as it is"
	}
	var all []string
	for _, name := range s.Names() {
		all = append(all, name+" = "+strconv.Itoa(s[name]))
	}
	return strings.Join(all, ", ")
}

// check says what is wrong with the set.
func (s Set) check() error {
	for _, name := range s.Names() {
		f, ok := profile.FindField(name)
		if !ok {
			return fmt.Errorf("a profile has no number `%s`", name)
		}
		if !f.OfKernels() {
			return fmt.Errorf("%s is not of single kernels", name)
		}
		if err := f.Set(&profile.Profile{}, s[name]); err != nil {
			return err
		}
	}
	return nil
}
