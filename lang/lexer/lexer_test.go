package lexer_test

import (
	"fmt"
	"strings"
	"testing"

	"healc/lang/diag"
	"healc/lang/lexer"

	plexer "github.com/alecthomas/participle/v2/lexer"
)

// show writes tokens as kind and text, and the codes of the errors at the end.
func show(text string) string {
	f := diag.NewFile("x.heal", text)
	tokens, comments, diags := lexer.Tokens(f)
	var out []string
	for _, t := range tokens {
		s := t.Text(f)
		if t.Kind != lexer.Op && t.Kind != lexer.Ident {
			s = t.Kind.String() + ":" + s
		}
		out = append(out, s)
	}
	for _, c := range comments {
		out = append(out, "<"+c.Text+">")
	}
	for _, d := range diags.Items {
		out = append(out, string(d.Code))
	}
	return strings.Join(out, "  ")
}

func TestTokens(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{" \t\r\n", ""},
		{"\uFEFFx", "x"},
		{"fn f for", "Keyword:fn  f  for"},
		// numbers and points
		{"0..N", "Int:0  ..  N"},
		{"0..=1", "Int:0  ..=  Int:1"},
		{"1.0..2.0", "Float:1.0  ..  Float:2.0"},
		{"1.+2", "Int:1  .+  Int:2"},
		{"1.&&x", "Int:1  .&&  x"},
		{"1.<=2", "Int:1  .<=  Int:2"},
		{"1_000 0xFF_u8 0xFF_f32", "Int:1_000  Int:0xFF_u8  Int:0xFF_f32"},
		{"1e5 1e-3_f64 1.5E+2 1_0.5_f16", "Float:1e5  Float:1e-3_f64  Float:1.5E+2  Float:1_0.5_f16"},
		{"1. x", "Float:1.  x  E0106"},
		{".5", "Float:.5  E0106"},
		{"t.0", "t  Bad:.0  E0106"},
		{"1e", "Int:1e  E0106"},
		{"1__", "Int:1__  E0106"},
		{"0x", "Int:0x  E0106"},
		{"0x_", "Int:0x_  E0106"},
		{"1i8", "Int:1i8  E0106"},
		{"1__i8", "Int:1__i8  E0106"},
		{"1.0_i8", "Float:1.0_i8  E0106"},
		// operators: the longest wins
		{"a.*b ./c .^d", "a  .*  b  ./  c  .^  d"},
		{"x .+= y -= .== .!=", "x  .+=  y  -=  .==  .!="},
		{"+/v -/v */v //v &&/v ||/v", "+/  v  -/  v  */  v  //  v  &&/  v  ||/  v"},
		{"+/-v +///v", "+/  -  v  +/  //  v"},
		{"|a|b |> ||", "|  a  |  b  |>  ||"},
		{"a<-1 => ->", "a  <  -  Int:1  =>  ->"},
		// text
		{`'a' '\'' '\x41' "a\"b\\"`, `Char:'a'  Char:'\''  Char:'\x41'  String:"a\"b\\"`},
		{`"# /* no comment"`, `String:"# /* no comment"`},
		{"\"a\nb", "Bad:\"a  b  E0105"},
		{"'a\nb", "Bad:'a  b  E0105"},
		{`''`, "Char:''  E0108"},
		{`'ab'`, "Char:'ab'  E0108"},
		{`'é'`, "Char:'é'"},
		{`"\q\u{41}\u41\x4"`, `String:"\q\u{41}\u41\x4"  E0107  E0107  E0107`},
		{`"\u{110000}\u{D800}\u{}\u{1234567}"`,
			`String:"\u{110000}\u{D800}\u{}\u{1234567}"  E0107  E0107  E0107  E0107`},
		{"'\\", "Bad:'\\  E0107  E0105"},
		// comments
		{"a # b\nc", "a  c  <# b>"},
		{"a#b\r\nc", "a  c  <#b>"},
		{"a/* /* */ */b", "a  b  </* /* */ */>"},
		{"/*/ */a", "a  </*/ */>"},
		{"a /* /* */", "a  E0104"},
		{"a// b", "a  //  b"},
		// strays
		{"a ^ b", "a  Bad:^  b  E0102"},
		{"a \u00a0b", "a  Bad:\u00a0  b  E0102"},
		{"naïve", "na  Bad:ïve  E0102"},
		{"日本 x", "Bad:日本  x  E0102"},
		{"a\x00b", "a  Bad:\x00  b  E0102"},
		{"a \xff\xfe b", "a  Bad:\xff\xfe  b  E0103"},
		{"\"\xff\"", "String:\"\xff\"  E0103"},
		// attributes
		{"@io fn f", "Attr:@  io  Keyword:fn  f"},
		{"@a @b(c, (d)) pub fn f", "Attr:@  a  Attr:@  b  (  c  ,  (  d  )  )  Keyword:pub  Keyword:fn  f"},
		{"@ io fn f", "@  io  Keyword:fn  f"},
		{"a@b\nfn f", "a  @  b  Keyword:fn  f"},
		{"a @b\nfn f", "a  @  b  Keyword:fn  f"},
		{"a\n@b\nfn f", "a  Attr:@  b  Keyword:fn  f"},
		{"1 @b fn f", "Int:1  Attr:@  b  Keyword:fn  f"},
		{"a@b\n@io fn f", "a  @  b  Attr:@  io  Keyword:fn  f"},
		{"@a(b fn f", "@  a  (  b  Keyword:fn  f"},
		{"@a const", "@  a  Keyword:const"},
		{"@a", "@  a"},
	} {
		if got := show(c.text); got != c.want {
			t.Errorf("%q gives\n%s\nwant\n%s", c.text, got, c.want)
		}
	}
}

// TestOperators requires that every operator is one token.
func TestOperators(t *testing.T) {
	for _, op := range append(append([]string{}, lexer.Operators...), lexer.Keywords...) {
		f := diag.NewFile("x.heal", "a "+op+" b")
		if tokens, _, _ := lexer.Tokens(f); len(tokens) != 3 || tokens[1].Text(f) != op {
			t.Errorf("%s is not one token", op)
		}
	}
}

func TestSplitNumber(t *testing.T) {
	for _, c := range []struct{ raw, value, suffix string }{
		{"0", "0", ""}, {"007", "7", ""}, {"00", "0", ""}, {"1_000_i64", "1000", "i64"}, {"0xF_F", "0xFF", ""},
		{"0XfF_u8", "0xfF", "u8"},
		{"0xFF_f32", "0xFFf32", ""}, {"00.5", "0.5", ""}, {"1e-3_f64", "1e-3", "f64"}, {"2.5_bf16", "2.5", "bf16"},
		{"1_0e1_0", "10e10", ""},
	} {
		if v, s := lexer.SplitNumber(c.raw); v != c.value || s != c.suffix {
			t.Errorf("%s splits into %q and %q, want %q and %q", c.raw, v, s, c.value, c.suffix)
		}
	}
}

func TestUnquote(t *testing.T) {
	for raw, want := range map[string]string{
		`""`: "", `"a b"`: "a b", `"\n\t\r\\\'\"\0"`: "\n\t\r\\'\"\x00", `"\x41\xe9"`: "Aé", `"\u{1F600}é"`: "😀é",
		`"\q"`: "\uFFFD", `'"'`: `"`, `"'"`: `'`,
	} {
		if got := lexer.Unquote(raw); got != want {
			t.Errorf("%s is %q, want %q", raw, got, want)
		}
	}
	for raw, want := range map[string]rune{`'a'`: 'a', `'\''`: '\'', `'\u{10FFFF}'`: 0x10FFFF, `'é'`: 'é',
		`'\xff'`: 0xff, `'\0'`: 0} {
		if got := lexer.CharValue(raw); got != want {
			t.Errorf("%s is %d, want %d", raw, got, want)
		}
	}
}

// TestErrorLimit: a hundred errors are shown, and all are counted.
func TestErrorLimit(t *testing.T) {
	for _, text := range []string{strings.Repeat("^ ", 10000), strings.Repeat("\xff ", 10000)} {
		if _, _, diags := lexer.Tokens(diag.NewFile("x.heal", text)); len(diags.Items) != 100 ||
			diags.More != 9900 {
			t.Errorf("%d errors, and %d more", len(diags.Items), diags.More)
		}
	}
}

func TestDefinition(t *testing.T) {
	var d plexer.Definition = lexer.Definition{}
	symbols := d.Symbols()
	lex, err := d.Lex("x.heal", strings.NewReader("fn # c\n f"))
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := plexer.ConsumeAll(lex)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, t := range tokens {
		got = append(got, fmt.Sprintf("%s@%d", t.Value, t.Pos.Offset))
	}
	if s := strings.Join(got, " "); s != "fn@0 f@8 @9" || tokens[0].Type != symbols["Keyword"] ||
		tokens[1].Type != symbols["Ident"] || !tokens[2].EOF() {
		t.Errorf("got %s", s)
	}
	if _, err := d.Lex("x.heal", strings.NewReader("^")); err == nil || !strings.Contains(err.Error(), "E0102") {
		t.Errorf("a stray character gives %v", err)
	}
}
