package tuned

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Entry is what was found for one kernel.
type Entry struct {
	Key
	Name     string  `json:"name"`     // of the kernel in the program, for people
	Measured string  `json:"measured"` // when, by what and on what
	Set      Set     `json:"set"`      // the schedule that holds
	Time     float64 `json:"ns"`       // of a call with it
	Rejected []Tried `json:"rejected"` // others that were measured beside it
}

// Tried is a schedule that was measured.
type Tried struct {
	Set  Set     `json:"set"`
	Time float64 `json:"ns"` // of a call with it
}

// File is the entries of a file. A nil File has none.
type File struct {
	Name    string // of the file, for messages
	entries []Entry
}

// Limits of a file.
const (
	MaxBytes = 16 << 20
	maxTried = 1000 // of an entry
	maxWords = 1000 // bytes of a text
)

// version is what a file says of itself.
const version = 1

// Error says what is wrong with a file.
type Error struct{ File, Message string }

func (e *Error) Error() string { return e.File + " is no tune file: " + e.Message }

// Help is what to do about it.
func (e *Error) Help() string {
	return "`healc tune` writes such files: remove it and tune again, or do without it by --tune=off"
}

// ParseOption reads a file that is given as an option of package heal; nil is no file. The error is an *Error.
func ParseOption(text []byte) (*File, error) {
	if text == nil {
		return nil, nil
	}
	return Parse("Options.Tuned", text)
}

// Parse reads a file. The error is an *Error.
func Parse(name string, text []byte) (*File, error) {
	bad := func(format string, args ...any) error { return &Error{name, fmt.Sprintf(format, args...)} }
	if len(text) > MaxBytes {
		return nil, bad("it has more than %d bytes", MaxBytes)
	}
	var in struct {
		Version int     `json:"heal_tune"`
		Entries []Entry `json:"entries"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			before := text[:min(syntax.Offset, int64(len(text)))]
			return nil, bad("line %d: %v", 1+bytes.Count(before, []byte("\n")), err)
		}
		return nil, bad("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, bad("there is something behind its end")
	}
	if in.Version != version {
		return nil, bad("heal_tune is %d, and this healc reads %d", in.Version, version)
	}
	f := &File{Name: name}
	for i := range in.Entries {
		e := in.Entries[i]
		if err := e.check(); err != nil {
			return nil, bad("entry %d: %v", i+1, err)
		}
		f.entries = append(f.entries, e)
	}
	slices.SortStableFunc(f.entries, func(a, b Entry) int { return a.Key.compare(b.Key) })
	for i := range f.entries[min(1, len(f.entries)):] {
		if k := f.entries[i].Key; k == f.entries[i+1].Key {
			return nil, bad("there are two entries for the kernel %s, shape `%s`, processor `%s`", k.Kernel, k.Shape,
				k.Processor)
		}
	}
	return f, nil
}

// check says what is wrong with an entry.
func (e *Entry) check() error {
	if len(e.Kernel) != 16 || strings.Trim(e.Kernel, "0123456789abcdef") != "" {
		return fmt.Errorf("kernel is `%.40s`, and has to be 16 hexadecimal digits", e.Kernel)
	}
	for _, words := range []string{e.Shape, e.Processor, e.Name, e.Measured} {
		if len(words) > maxWords {
			return fmt.Errorf("a text has more than %d bytes", maxWords)
		}
		if !utf8.ValidString(words) || strings.ContainsFunc(words, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return fmt.Errorf("a text is %q", words)
		}
	}
	if e.Processor == "" {
		return errors.New("it names no processor")
	}
	if len(e.Rejected) > maxTried {
		return fmt.Errorf("it has more than %d rejected schedules", maxTried)
	}
	for _, t := range append([]Tried{{e.Set, e.Time}}, e.Rejected...) {
		if err := t.Set.check(); err != nil {
			return err
		}
		if !(t.Time >= 0) || t.Time > math.MaxInt64 {
			return fmt.Errorf("a time is %v ns", t.Time)
		}
	}
	return nil
}

// Entries are the entries, in the order of their keys.
func (f *File) Entries() []Entry {
	if f == nil {
		return nil
	}
	return slices.Clone(f.entries)
}

// find is where the entry of a key is, or has to be.
func (f *File) find(key Key) (int, bool) {
	return slices.BinarySearchFunc(f.entries, key, func(e Entry, k Key) int { return e.Key.compare(k) })
}

// Find is the entry of a key; nil when there is none.
func (f *File) Find(key Key) *Entry {
	if f == nil {
		return nil
	}
	if i, ok := f.find(key); ok {
		return &f.entries[i]
	}
	return nil
}

// Put adds an entry, in place of the one that has its key. All others stay.
func (f *File) Put(e Entry) {
	i, ok := f.find(e.Key)
	if ok {
		f.entries[i] = e
		return
	}
	f.entries = slices.Insert(f.entries, i, e)
}

// Clone is a copy to which entries can be added.
func (f *File) Clone() *File {
	if f == nil {
		return &File{}
	}
	return &File{f.Name, slices.Clone(f.entries)}
}

// Text is the file as it is written: the same entries give the same text.
func (f *File) Text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\n\"heal_tune\": %d,\n\"entries\": [", version)
	for i, e := range f.Entries() {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n{\"kernel\": %s, \"shape\": %s, \"processor\": %s,\n \"name\": %s, \"measured\": %s,\n",
			quoted(e.Kernel), quoted(e.Shape), quoted(e.Processor), quoted(e.Name), quoted(e.Measured))
		fmt.Fprintf(&b, " \"set\": %s, \"ns\": %s,\n \"rejected\": [", e.Set.json(), quoted(e.Time))
		for k, t := range e.Rejected {
			if k > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "\n  {\"set\": %s, \"ns\": %s}", t.Set.json(), quoted(t.Time))
		}
		b.WriteString("]}")
	}
	b.WriteString("\n]\n}\n")
	return b.Bytes()
}

// json is the set as a file has it.
func (s Set) json() string {
	var all []string
	for _, name := range s.Names() {
		all = append(all, fmt.Sprintf("%s: %d", quoted(name), s[name]))
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// quoted is a value in JSON, where `<` stays as it is.
func quoted(x any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(x); err != nil {
		panic("BUG: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Digest stands for all that the file says.
func (f *File) Digest() string {
	if f == nil {
		return ""
	}
	sum := sha256.Sum256(f.Text())
	return string(sum[:])
}
