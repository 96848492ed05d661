package cli

import (
	"io"
	"strings"
	"testing"
)

// TestKeyboard: Ctrl-C becomes the keys that empty the line and end it.
func TestKeyboard(t *testing.T) {
	for _, c := range []struct {
		in, want    string
		interrupted bool
	}{
		{"abc\r", "abc\r", false}, {"abc\x03", "\x05\x15\r", true}, {"\x03", "\x05\x15\r", true},
	} {
		k := &keyboard{in: strings.NewReader(c.in)}
		p := make([]byte, 16)
		n, err := k.Read(p)
		if string(p[:n]) != c.want || k.interrupted != c.interrupted || err != nil {
			t.Errorf("%q gives %q, %v, %v", c.in, p[:n], k.interrupted, err)
		}
	}
}

// TestSession: an interrupt drops the lines of an input, and the end of the input ends a session whose last
// line has no end.
func TestSession(t *testing.T) {
	a, out, stderr := session("")
	lines := []string{"1 +", "^C", "2", "(3", ")"}
	asked := []bool{}
	code := run([]string{"repl", "--backend", "interp"}, a)
	if code != exitOK || out.Len() != 0 {
		t.Errorf("an empty session ends with %d and prints %q", code, out)
	}
	a.in = strings.NewReader("1 + 1\n2 * 4")
	if code := run([]string{"repl", "--backend", "interp"}, a); code != exitOK || out.String() != "2\n8\n" {
		t.Errorf("a session ends with %d and prints %q, %q", code, out, stderr)
	}
	out.Reset()
	read := func(more bool) (string, error) {
		asked = append(asked, more)
		if len(lines) == 0 {
			return "", io.EOF
		}
		line := lines[0]
		lines = lines[1:]
		if line == "^C" {
			return "", errInterrupt
		}
		return line, nil
	}
	if err := a.session(t.Context(), newSession("interp", 1, a.out), read); err != nil {
		t.Fatal(err)
	}
	if out.String() != "2\n3\n" {
		t.Errorf("the session prints %q, %q", out, stderr)
	}
	if want := []bool{false, true, false, false, true, false}; len(asked) != len(want) {
		t.Errorf("the prompts are %v, not %v", asked, want)
	}
}
