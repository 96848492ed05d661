package diag

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestRenderShowsPlaceNotesAndHelp(t *testing.T) {
	f := NewFile("norm.heal", "fn f() = {\n\tlet d = x .- mean;\n}\n")
	at := strings.Index(f.Text, "x .-")
	d := &Diagnostic{
		Code: "E0203", Message: "shapes do not broadcast",
		Primary: Label{Span{File: f, Start: at, End: at + 9}, "f32[2] .- f32[3]"},
		Related: []Label{{Span{File: f, End: 2}, "here"}},
		Notes:   []string{"[2]", "[3]"}, Help: "make them equal\nor make one 1",
	}
	want := `error[E0203]: shapes do not broadcast
  --> norm.heal:2:10
   |
 2 |  let d = x .- mean;
   |          ^^^^^^^^^ f32[2] .- f32[3]
  ::: norm.heal:1:1
   |
 1 | fn f() = {
   | ^^ here
   |
   = [2]
   = [3]
   = help: make them equal
           or make one 1
`
	if got := Render(d, false); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got := Render(d, true); !strings.Contains(got, "\x1b[1;31m") {
		t.Error("no colour where colour was asked for")
	}
}

// TestRenderAnyPlace: no span, in or out of the text, on any line, may panic or print a control character.
func TestRenderAnyPlace(t *testing.T) {
	f := NewFile("a", "x\r\n\n\x1b[31mred\x00\xff "+strings.Repeat("long ", 100)+"\n日本語 tail")
	for start := -1; start <= len(f.Text)+1; start++ {
		for _, n := range []int{0, 1, 40, 10000} {
			out := Render(&Diagnostic{Message: "m", Primary: Label{Span{File: f, Start: start, End: start + n},
				"here"}}, false)
			if strings.ContainsAny(out, "\x1b\x00\r\t") {
				t.Fatalf("control character in %q", out)
			}
			for _, line := range strings.Split(out, "\n") {
				if len([]rune(line)) > 260 {
					t.Fatalf("line of %d columns", len([]rune(line)))
				}
			}
		}
	}
	if out := Render(&Diagnostic{Message: "m"}, false); out != "error: m\n" {
		t.Errorf("without a place: %q", out)
	}
}

func TestPositions(t *testing.T) {
	f := NewFile("a", "ab\nßc\n")
	for _, c := range []struct {
		off, line, col int
	}{{0, 1, 1}, {2, 1, 3}, {3, 2, 1}, {5, 2, 2}, {7, 3, 1}, {99, 3, 1}} {
		if p := f.Pos(c.off); p.Line != c.line || p.Col != c.col {
			t.Errorf("offset %d is %v, want %d:%d", c.off, p, c.line, c.col)
		}
	}
}

// TestBrief: a message does not have all of a word that nobody reads to its end, and all of its other words.
func TestBrief(t *testing.T) {
	long := strings.Repeat("ä", 1000000)
	d := &Diagnostic{Message: "unknown  name `" + long + "` here", Help: "write\n  `" + long + "`",
		Primary: Label{Text: long}, Related: []Label{{Text: long}}, Notes: []string{"[1]  [2]", long}}
	if out := Render(d, false); len(out) > 2000 {
		t.Errorf("%d bytes", len(out))
	}
	b := d.Brief()
	if m := b.Message; !utf8.ValidString(m) || !strings.HasPrefix(m, "unknown  name `ää") ||
		!strings.HasSuffix(m, "ä` here") || !strings.Contains(m, "ä...ä") {
		t.Errorf("the message is %q", m)
	}
	if b.Notes[0] != "[1]  [2]" || !strings.HasPrefix(b.Help, "write\n  `ä") || d.Notes[1] != long {
		t.Errorf("help %q, notes %q", b.Help, b.Notes)
	}
	for _, text := range []string{"", " a ", strings.Repeat("word  ", 1000) + "\n"} {
		if got := (&Diagnostic{Message: text}).Brief().Message; got != text {
			t.Errorf("%q is %q", text, got)
		}
	}
}

func TestSortDropsRepeats(t *testing.T) {
	f := NewFile("a", "abcdef")
	var l List
	for _, at := range []int{4, 1, 4} {
		l.Add(&Diagnostic{Code: "E1", Message: "m", Primary: Label{Span: Span{File: f, Start: at, End: at + 1}}})
	}
	l.Sort()
	if len(l.Items) != 2 || l.Items[0].Primary.Span.Start != 1 {
		t.Errorf("%d items, first at %d", len(l.Items), l.Items[0].Primary.Span.Start)
	}
}

func TestEveryCodeHasAPage(t *testing.T) {
	if len(Entries()) < 30 {
		t.Fatalf("%d codes", len(Entries()))
	}
	for _, e := range Entries() {
		if e.Title == "" || e.Text == "" || e.Example == "" && e.Extern == "" {
			t.Errorf("%s lacks a title, a text or an example", e.Code)
		}
		if len(e.Code) != 5 || e.Code[0] != 'E' {
			t.Errorf("%s is no code", e.Code)
		}
	}
}
