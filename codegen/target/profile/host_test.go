package profile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var genoa = Processor{Vendor: "AuthenticAMD", Family: 25, Model: 17, Features: []string{"avx512f"}}

// write makes a file of a folder.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestChoose: what HEAL_PROFILE says counts, then the user's file, then the system's, then the profile that healc has.
func TestChoose(t *testing.T) {
	user, system := t.TempDir(), t.TempDir()
	folders := []string{user, system}
	rows := func(f *InForce, want int, file string) {
		t.Helper()
		if f.Err != nil || f.Profile.Rows.Many != want || f.File != file {
			t.Errorf("rows.many = %d of %q, %v; want %d of %q", f.Profile.Rows.Many, f.File, f.Err, want, file)
		}
	}
	rows(choose(genoa, "", folders), 8, "")
	if f := choose(genoa, "", folders); f.Profile != Named("zen4") {
		t.Errorf("%s without a file", f.Profile.Name)
	}
	there := write(t, system, genoa.File(), Head("zen4", genoa)+"rows.many = 5\n")
	rows(choose(genoa, "", folders), 5, there)
	here := write(t, user, genoa.File(), Head("zen4", genoa)+"measured = today\nfigure = fast\nrows.many = 4\n")
	f := choose(genoa, "", folders)
	rows(f, 4, here)
	if f.Measured != "today" || len(f.Figures) != 1 || f.Figures[0] != "fast" || f.Profile.NTT.Words != 1 {
		t.Errorf("%+v", f)
	}
	rows(choose(genoa, Shipped, folders), 8, "")
	if f := choose(genoa, "zen5", folders); f.Profile != Named("zen5") || f.By != Env {
		t.Errorf("%s by %s", f.Profile.Name, f.By)
	}
	other := write(t, t.TempDir(), "p", "like = base\nrows.many = 3\n")
	rows(choose(genoa, other, folders), 3, other)
}

// TestChooseRefused: a file that cannot be used leaves the profile that healc has, and says why.
func TestChooseRefused(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"rows.many = 4":                              "has to be like one of the profiles zen5,",
		"like = zen9":                                "has to be like one of the profiles",
		"like = zen4\nrows.many = 99":                ":2: rows.many is 99, and has to be from 2 to 16 rows",
		"like = zen4\nrows.frob = 9":                 ":2: a profile has no field `rows.frob`",
		"like = zen4\nidentify = GenuineIntel 6 143": "on another processor: this one is AuthenticAMD 25 17",
		"like = zen4\nplan.near_bytes = 0":           "plan.near_bytes is the same for every processor",
		"\x00\xff":                                   "expected `name = value`",
		strings.Repeat("#", fileMost+1):              "has more than 1048576 bytes",
	} {
		write(t, dir, genoa.File(), text)
		f := choose(genoa, "", []string{dir})
		if f.Err == nil || f.Asked || f.Profile != Named("zen4") || !strings.Contains(f.Err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, f.Err, want)
		}
	}
	for _, asked := range []string{filepath.Join(dir, "none"), dir, "/dev/zero"} {
		if f := choose(genoa, asked, nil); f.Err == nil || !f.Asked || f.Profile != Named("zen4") {
			t.Errorf("%s: %v", asked, f.Err)
		}
	}
}

// TestProcessor: a processor is known by what Linux says of it, as x86 and ARM have it.
func TestProcessor(t *testing.T) {
	for text, want := range map[string]string{
		"processor: 0\nvendor_id : GenuineIntel\ncpu family\t: 6\nmodel : 143\n\nmodel: 1\n": "genuineintel-6-143",
		"CPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd40\n":                  "arm-0x41-8-3392",
		"vendor_id : ../../Evil Inc.\ncpu family : 1\nmodel : x\n":                           "evilinc-1-0",
	} {
		if got := processor(text).File(); got != want+".profile" {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if p := processor(""); strings.HasPrefix(p.File(), "-") || Head("base", p) != "like = base\n" {
		t.Errorf("%s, %q", p.File(), Head("base", p))
	}
}

// TestPass: a process that is started gets the same profile.
func TestPass(t *testing.T) {
	path := write(t, t.TempDir(), "p", "like = base\nrows.many = 3\n")
	other := "zen5"
	if shipped, _ := For(Here()); shipped == Named(other) {
		other = "zen3"
	}
	for asked, want := range map[string]int{path: 1, other: 0, Shipped: 0} {
		files, env := choose(Here(), asked, nil).Pass()
		if len(files) != want || env != Env+"="+asked {
			t.Errorf("%s: %v, %s", asked, files, env)
		}
	}
	if f := choose(Here(), path, nil); !strings.Contains(f.Changed(), "rows.many=3 ") {
		t.Errorf("changed are %q", f.Changed())
	}
	if f := choose(Here(), Shipped, nil); f.Changed() != "" {
		t.Errorf("changed are %q", f.Changed())
	}
}
