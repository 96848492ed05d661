// Package profile has what was measured about processors: one file for each microarchitecture, in text, and the choice
// among them by what a processor says of itself.
//
// A profile has values for the fields of Profile. A file names those in which the processor differs from another one:
//
//	like = base
//	processors = znver4
//	identify = AuthenticAMD 25 16-31 96-127 160-175
//	otherwise = AuthenticAMD avx512f
//	prefetch.distance = 4096
//
// processors are the first letters of LLVM's names. identify is a vendor, a family and models as the processor gives
// them. A virtual machine may hide these; then the first profile counts whose line `otherwise` has the vendor (or any)
// and features that are all there, in the order of Order.
package profile

import (
	"embed"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed profiles/*.profile
var files embed.FS

// Order is the names of all profiles, in the order in which they are tried for a processor that hides its name.
var Order = []string{"zen5", "zen4", "zen3", "granite-rapids", "sapphire-rapids", "generic-avx512", "generic-avx2",
	"aarch64", "hopper", "nvidia", "base"}

// Field is a number of a profile.
type Field struct {
	Name      string // group.name
	Unit      string
	Low, High int
	Power     bool   // a power of two
	Trade     string // what it trades
	Page      string // of docs/tuning
	index     []int
}

//go:embed fields.txt
var descriptions string

// Fields is every number of a profile, in the order of the struct. One without a line in fields.txt is a bug, and so is
// a line without a number.
var Fields = sync.OnceValue(func() []Field {
	t := reflect.TypeFor[Profile]()
	described := make(map[string]Field, len(descriptions)/64)
	for line := range strings.SplitSeq(descriptions, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		f, err := parseField(line)
		if err != nil {
			panic("BUG: fields.txt: " + err.Error())
		}
		described[f.Name] = f
	}
	out := make([]Field, 0, len(described))
	for i := range t.NumField() {
		group := t.Field(i)
		if group.Type.Kind() != reflect.Struct {
			continue
		}
		prefix := snake(group.Name) + "."
		for j := range group.Type.NumField() {
			name := prefix + snake(group.Type.Field(j).Name)
			f, ok := described[name]
			if !ok {
				panic("BUG: fields.txt has no " + name)
			}
			f.index = []int{i, j}
			out = append(out, f)
		}
	}
	if len(out) != len(described) {
		panic("BUG: fields.txt has more than the fields of a profile")
	}
	return out
})

var fieldsByName = sync.OnceValue(func() map[string]*Field {
	out := make(map[string]*Field, len(Fields()))
	for i := range Fields() {
		out[Fields()[i].Name] = &Fields()[i]
	}
	return out
})

// FieldNamed is the field of a name; there has to be one.
func FieldNamed(name string) Field { return *fieldsByName()[name] }

// FindField is the field of a name, and whether there is one.
func FindField(name string) (f Field, ok bool) {
	if p := fieldsByName()[name]; p != nil {
		return *p, true
	}
	return f, false
}

// parseField reads a line of fields.txt.
func parseField(line string) (f Field, err error) {
	parts := strings.SplitN(line, " | ", 6)
	if len(parts) != 5 {
		return f, fmt.Errorf("`%s` has %d parts, not 5", line, strings.Count(line, " | ")+1)
	}
	f = Field{Name: parts[0], Unit: parts[1], Page: parts[3], Trade: parts[4]}
	limits, power := strings.CutSuffix(parts[2], " pow2")
	f.Power = power
	low, high, _ := strings.Cut(limits, "..")
	if f.Low, err = strconv.Atoi(low); err != nil {
		return f, err
	}
	f.High, err = strconv.Atoi(high)
	return f, err
}

// snake is a name in small letters, with _ between words.
func snake(name string) string {
	b := make([]byte, 0, len(name)+4)
	for i := range len(name) {
		c := name[i]
		if isUpper(c) {
			if i > 0 && !isUpper(name[i-1]) {
				b = append(b, '_')
			}
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return string(b)
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

// Group is what stands before the point of its name.
func (f Field) Group() string {
	group, _, _ := strings.Cut(f.Name, ".")
	return group
}

// Get is the value of a field.
func (f Field) Get(p *Profile) int { return int(reflect.ValueOf(p).Elem().FieldByIndex(f.index).Int()) }

// Set gives a field a value; the error says what is wrong with it.
func (f Field) Set(p *Profile, x int) error {
	if x < f.Low || x > f.High {
		return fmt.Errorf("%s is %d, and has to be from %d to %d %s", f.Name, x, f.Low, f.High, f.Unit)
	}
	if f.Power && x&(x-1) != 0 {
		return fmt.Errorf("%s is %d, and has to be a power of two", f.Name, x)
	}
	reflect.ValueOf(p).Elem().FieldByIndex(f.index).SetInt(int64(x))
	return nil
}

// identity is a vendor, a family and ranges of models.
type identity struct {
	vendor string
	family int
	models [][2]int
}

// source is a file as it is written.
type source struct {
	like       string
	processors []string
	identify   []identity
	otherwise  [][]string // a vendor or `any`, and features
	measured   string     // when and by what, of a file that was measured; "" of one that healc has
	figures    []string   // what the machine did then
	values     map[string]int
}

// parse reads the text of a profile.
func parse(name, text string) (*source, error) {
	s := &source{values: map[string]int{}}
	fields := fieldsByName()
	for i, line := range strings.Split(text, "\n") {
		bad := func(format string, args ...any) error {
			return fmt.Errorf("%s.profile:%d: %s", name, i+1, fmt.Sprintf(format, args...))
		}
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		words := strings.Fields(value)
		if !ok || len(words) == 0 {
			return nil, bad("expected `name = value`, not `%s`", line)
		}
		switch key {
		case "like":
			s.like = value
		case "processors":
			s.processors = append(s.processors, words...)
		case "identify":
			id, err := parseIdentity(words)
			if err != nil {
				return nil, bad("%s", err)
			}
			s.identify = append(s.identify, id)
		case "otherwise":
			s.otherwise = append(s.otherwise, words)
		case "measured":
			s.measured = value
		case "figure":
			s.figures = append(s.figures, value)
		default:
			f, known := fields[key]
			x, err := strconv.Atoi(value)
			_, twice := s.values[key]
			switch {
			case !known:
				return nil, bad("a profile has no field `%s`", key)
			case err != nil:
				return nil, bad("%s is `%s`, which is no integer", key, value)
			case twice:
				return nil, bad("%s stands there twice", key)
			}
			if err := f.Set(&Profile{}, x); err != nil {
				return nil, bad("%s", err)
			}
			s.values[key] = x
		}
	}
	return s, nil
}

// parseIdentity reads VENDOR FAMILY MODEL-MODEL...; without models it is all of the family.
func parseIdentity(words []string) (identity, error) {
	if len(words) < 2 {
		return identity{}, fmt.Errorf("identify needs a vendor and a family, as in `GenuineIntel 6 143`")
	}
	id := identity{vendor: words[0]}
	var err error
	if id.family, err = strconv.Atoi(words[1]); err != nil {
		return id, fmt.Errorf("the family is `%s`, which is no integer", words[1])
	}
	for _, w := range words[2:] {
		from, to, ranged := strings.Cut(w, "-")
		if !ranged {
			to = from
		}
		a, err1 := strconv.Atoi(from)
		b, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil || a > b {
			return id, fmt.Errorf("`%s` is no model and no range of models", w)
		}
		id.models = append(id.models, [2]int{a, b})
	}
	return id, nil
}

func (id identity) is(p Processor) bool {
	if id.vendor != p.Vendor || id.family != p.Family {
		return false
	}
	return len(id.models) == 0 || slices.ContainsFunc(id.models, func(m [2]int) bool {
		return m[0] <= p.Model && p.Model <= m[1]
	})
}

// entry is an embedded file and the profile that it makes, each read when it is asked for: few programs ask for all.
// A file that is wrong is a bug, which a test finds.
type entry struct {
	source  func() *source
	profile func() *Profile
}

var entries = map[string]entry{}

func init() {
	for _, name := range Order {
		entries[name] = entry{
			sync.OnceValue(func() *source {
				text, err := files.ReadFile("profiles/" + name + ".profile")
				if err != nil {
					panic("BUG: " + err.Error())
				}
				s, err := parse(name, string(text))
				if err != nil {
					panic("BUG: " + err.Error())
				}
				return s
			}),
			sync.OnceValue(func() *Profile {
				p, err := build(name, embedded, 0)
				if err != nil {
					panic("BUG: " + err.Error())
				}
				return p
			}),
		}
	}
}

// embedded is the source of a name; nil when there is none.
func embedded(name string) *source {
	if e, ok := entries[name]; ok {
		return e.source()
	}
	return nil
}

// build is a profile with what it has of the one that it is like.
func build(name string, from func(name string) *source, depth int) (*Profile, error) {
	s := from(name)
	if s == nil || depth > len(Order) {
		return nil, fmt.Errorf("there is no profile `%s`, or it is like itself", name)
	}
	p := &Profile{}
	if s.like != "" {
		var err error
		if p, err = build(s.like, from, depth+1); err != nil {
			return nil, err
		}
	}
	p.Name = name
	for i := range Fields() {
		f := &Fields()[i]
		x, here := s.values[f.Name]
		switch {
		case here:
			if err := f.Set(p, x); err != nil {
				return nil, err
			}
		case s.like == "":
			return nil, fmt.Errorf("%s.profile has no %s, and is like no other", name, f.Name)
		}
	}
	return p, nil
}

// Named is the profile of a name; nil when there is none. Nobody may change it: Clone.
func Named(name string) *Profile {
	if e, ok := entries[name]; ok {
		return e.profile()
	}
	return nil
}

// Base is the profile that the others differ from, and of which plans are.
func Base() *Profile { return Named("base") }

// Clone is a copy that may be changed.
func (p *Profile) Clone() *Profile {
	c := *p
	return &c
}

// Processor is what a processor says of itself.
type Processor struct {
	Name     string // LLVM's, where the target is named; else the rest counts
	ARM      bool   // it is no x86-64
	Vendor   string // as in /proc/cpuinfo; "" when it is not known
	Family   int
	Model    int
	Features []string // as in /proc/cpuinfo
}

// For chooses the profile of a processor, and says by what.
func For(p Processor) (profile *Profile, by string) {
	if p.ARM {
		return Named("aarch64"), "the architecture"
	}
	if p.Name != "" {
		longest, found := 0, ""
		for _, name := range Order {
			for _, n := range embedded(name).processors {
				if strings.HasPrefix(p.Name, n) && len(n) > longest {
					longest, found = len(n), name
				}
			}
		}
		if found != "" {
			return Named(found), "the name `" + p.Name + "`"
		}
		return Base(), "nothing: no profile is for `" + p.Name + "`"
	}
	for _, name := range Order {
		for _, id := range embedded(name).identify {
			if id.is(p) {
				return Named(name), fmt.Sprintf("vendor %s, family %d, model %d", p.Vendor, p.Family, p.Model)
			}
		}
	}
	for _, name := range Order {
		for _, words := range embedded(name).otherwise {
			missing := slices.ContainsFunc(words[1:], func(f string) bool { return !slices.Contains(p.Features, f) })
			if (words[0] == "any" || words[0] == p.Vendor) && !missing {
				return Named(name), "vendor and features: " + strings.Join(words, " ")
			}
		}
	}
	return Base(), "nothing: it has no features that a profile is for"
}
