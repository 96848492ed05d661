package profile

import (
	"strings"
	"testing"
)

// TestFields: every field has a unit, a range, a sentence and a page, and every profile a value in its range.
func TestFields(t *testing.T) {
	if len(Fields()) < 60 {
		t.Fatalf("%d fields", len(Fields()))
	}
	for _, f := range Fields() {
		if f.Unit == "" || f.Trade == "" || f.Page == "" || f.Low > f.High {
			t.Errorf("%+v is not described", f)
		}
		for _, name := range Order {
			p := Named(name)
			if p.Name != name || f.Set(p.Clone(), f.Get(p)) != nil {
				t.Errorf("%s: %s is %d", name, f.Name, f.Get(p))
			}
		}
	}
}

// TestFieldErrors: a line of fields.txt that is none is an error.
func TestFieldErrors(t *testing.T) {
	for _, line := range []string{"a.b", "a.b | x | 1..y | p | t", "a.b | x | 1 | p | t"} {
		if _, err := parseField(line); err == nil {
			t.Errorf("`%s` is read", line)
		}
	}
}

// TestErrors: what is wrong in a file is said with its line.
func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"prefetch.distance":               "p.profile:1: expected `name = value`",
		"prefetch.distance =":             "expected `name = value`",
		"\nprefetch.frob = 3":             "p.profile:2: a profile has no field `prefetch.frob`",
		"rows.many = x":                   "rows.many is `x`, which is no integer",
		"rows.many = 99":                  "rows.many is 99, and has to be from 2 to 16 rows",
		"rows.many = 8\nrows.many = 8":    "p.profile:2: rows.many stands there twice",
		"columns.rows = 3":                "columns.rows is 3, and has to be a power of two",
		"identify = GenuineIntel":         "identify needs a vendor and a family",
		"identify = GenuineIntel x":       "the family is `x`",
		"identify = GenuineIntel 6 9-3":   "`9-3` is no model",
		"identify = GenuineIntel 6 a":     "`a` is no model",
		"99999999999999999999999 = 1 # x": "a profile has no field",
	} {
		if _, err := parse("p", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"rows.many = 8": "p.profile has no prefetch.distance, and is like no other",
		"like = q":      "there is no profile `q`",
		"like = p":      "like itself",
	} {
		s, err := parse("p", text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = build("p", func(string) *source { return s }, 0)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestFor: a processor is known by LLVM's name, by its numbers, or by vendor and features where these are hidden.
func TestFor(t *testing.T) {
	avx512 := []string{"avx2", "avx512f"}
	for _, c := range []struct {
		p    Processor
		want string
	}{
		{Processor{Name: "znver4"}, "zen4"},
		{Processor{Name: "znver3"}, "zen3"},
		{Processor{Name: "znver9"}, "base"},
		{Processor{Name: "skylake"}, "generic-avx2"},
		{Processor{Name: "skylake-avx512"}, "generic-avx512"},
		{Processor{Name: "emeraldrapids"}, "sapphire-rapids"},
		{Processor{Name: "graniterapids-d"}, "granite-rapids"},
		{Processor{Name: "x86-64"}, "base"},
		{Processor{Name: "neoverse-v2", ARM: true}, "aarch64"},
		{Processor{Vendor: "AuthenticAMD", Family: 25, Model: 17, Features: avx512}, "zen4"},
		{Processor{Vendor: "AuthenticAMD", Family: 25, Model: 1, Features: []string{"avx2"}}, "zen3"},
		{Processor{Vendor: "AuthenticAMD", Family: 26, Model: 2, Features: avx512}, "zen5"},
		{Processor{Vendor: "AuthenticAMD", Family: 15, Model: 6, Features: avx512}, "zen4"},
		{Processor{Vendor: "AuthenticAMD", Family: 15, Model: 6, Features: []string{"avx2"}}, "zen3"},
		{Processor{Vendor: "GenuineIntel", Family: 6, Model: 143, Features: avx512}, "sapphire-rapids"},
		{Processor{Vendor: "GenuineIntel", Family: 6, Model: 173, Features: avx512}, "granite-rapids"},
		{Processor{Vendor: "GenuineIntel", Family: 6, Model: 85, Features: avx512}, "generic-avx512"},
		{Processor{Vendor: "GenuineIntel", Family: 6, Features: append(avx512, "amx_tile")}, "sapphire-rapids"},
		{Processor{Vendor: "GenuineIntel", Family: 6, Features: append(avx512, "amx_tile", "amx_fp16")},
			"granite-rapids"},
		{Processor{Vendor: "HygonGenuine", Features: []string{"avx2"}}, "generic-avx2"},
		{Processor{Features: avx512}, "generic-avx512"},
		{Processor{}, "base"},
	} {
		if p, by := For(c.p); p.Name != c.want || by == "" {
			t.Errorf("%+v: %s by %s, want %s", c.p, p.Name, by, c.want)
		}
	}
}
