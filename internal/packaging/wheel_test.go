package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"healc/tests/sample"
)

// TestPythonVersions: versions are in Python's form, in which what comes before a release is before it.
func TestPythonVersions(t *testing.T) {
	for version, want := range map[string]string{
		"1.2.3": "1.2.3", "0.2.0-dev.20261127.g0Abc": "0.2.0.dev20261127+g0abc", "1.2.3-rc.1": "1.2.3rc1",
		"1.2.3-dev.20261127.g0.changed": "1.2.3.dev20261127+g0.changed", "1.2.3-alpha.4": "1.2.3a4",
		"1.2": "", "1.2.3-new": "", "v1.2.3": "", "1.2.3-dev.1.": "", "1.2.3-dev.1.a-b": "",
	} {
		got, err := pythonVersion(version)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s is %q, %v, not %q", version, got, err, want)
		}
	}
}

// TestWheelTags: what a program needs is read from it, and what not every system has is refused.
func TestWheelTags(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this test reads a program of Linux")
	}
	if tags, err := wheelTags(target{"windows", "amd64", ""}, ""); err != nil || tags[0] != "win_amd64" {
		t.Error(tags, err)
	}
	// a program of Go without a C library runs on all systems
	program := filepath.Join(t.TempDir(), "p")
	if err := os.WriteFile(program+".go", []byte("package main\n\nfunc main() {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := goIn(nil, "build", "-o", program, program+".go").Output(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	tags, err := wheelTags(target{"linux", "arm64", ""}, program)
	if err != nil || strings.Join(tags, ".") != "manylinux2014_aarch64.manylinux_2_17_aarch64" {
		t.Error(tags, err)
	}
	if tags, err = wheelTags(target{"linux", "amd64", musl}, program); err != nil || tags[0] != "musllinux_1_2_x86_64" {
		t.Error(tags, err)
	}
	// the head of a program of macOS 12.1, with one command
	var head []byte
	for _, x := range []uint32{0xfeedfacf, 0x0100000c, 0, 2, 1, 24, 0, 0, 0x32, 24, 1, 12<<16 | 1<<8, 13 << 16, 0} {
		head = binary.LittleEndian.AppendUint32(head, x)
	}
	if err := os.WriteFile(program, head, 0o644); err != nil {
		t.Fatal(err)
	}
	tags, err = wheelTags(target{"darwin", "arm64", ""}, program)
	if err != nil || len(tags) != 1 || tags[0] != "macosx_12_1_arm64" {
		t.Error(tags, err)
	}
	// /bin/sh wants functions by their versions
	if shell, err := filepath.EvalSymlinks("/bin/sh"); err == nil {
		if err := wantsLittle(shell); err == nil || !strings.Contains(err.Error(), " wants ") {
			t.Error(err)
		}
	}
}

// testWheel is a wheel with a program.
func testWheel(program []byte) *wheel {
	return &wheel{version: "1.2.3", tags: []string{"manylinux2014_x86_64", "manylinux_2_17_x86_64"},
		url: "https://example.org/heal", time: noon, program: file{"healc", 0o755, program},
		notes: []file{{"licenses/LICENSE", 0o644, []byte("free")}}}
}

// TestWheel: a wheel lists all that is in it, with sizes and checksums, and comes out the same each time.
func TestWheel(t *testing.T) {
	w := testWheel([]byte("#!/bin/sh\n"))
	text, err := w.bytes()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := w.bytes(); err != nil || !bytes.Equal(text, again) {
		t.Errorf("it differs: %v", err)
	}
	z, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	record, found := "", map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		found[f.Name] = string(data)
		if executable := f.Mode()&0o111 != 0; executable != strings.HasSuffix(f.Name, "/scripts/healc") ||
			!f.Mode().IsRegular() || !f.Modified.Equal(noon) {
			t.Errorf("%s has the mode %v, of %v", f.Name, f.Mode(), f.Modified)
		}
		sum := sha256.Sum256(data)
		if hash := base64.RawURLEncoding.EncodeToString(sum[:]); strings.HasSuffix(f.Name, "/RECORD") {
			record += f.Name + ",,\n"
		} else {
			record += fmt.Sprintf("%s,sha256=%s,%d\n", f.Name, hash, len(data))
		}
	}
	const info = "heal-1.2.3.dist-info/"
	lines := func(s string) map[string]bool {
		out := map[string]bool{}
		for l := range strings.Lines(s) {
			out[l] = true
		}
		return out
	}
	if got := found[info+"RECORD"]; len(lines(got)) != len(lines(record)) || len(got) != len(record) {
		t.Errorf("RECORD is\n%s, not\n%s", got, record)
	}
	for l := range lines(record) {
		if !lines(found[info+"RECORD"])[l] {
			t.Errorf("RECORD lacks %s", l)
		}
	}
	for name, want := range map[string]string{
		info + "WHEEL": "Root-Is-Purelib: false\nTag: py3-none-manylinux2014_x86_64\n" +
			"Tag: py3-none-manylinux_2_17_x86_64\n",
		info + "METADATA":         "Name: heal\nVersion: 1.2.3\n",
		info + "licenses/LICENSE": "free",
		"heal/__init__.py":        "__version__ = \"1.2.3\"\n",
		"heal/py.typed":           "",

		"heal-1.2.3.data/scripts/healc": "#!/bin/sh\n",
	} {
		if text, ok := found[name]; !ok || !strings.Contains(text, want) {
			t.Errorf("%s is %q, without %q", name, text, want)
		}
	}
	if w.name() != "heal-1.2.3-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl" {
		t.Error(w.name())
	}
}

// TestWheelInstalled: pip installs a wheel into an environment that has nothing else; healc is on its PATH, and
// programs are compiled and called.
func TestWheelInstalled(t *testing.T) {
	if testing.Short() || !sample.Has(sample.Today(t), 2, 4) {
		t.Skip("it links the compiler, on one day of four")
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the wheel of this test is for Linux on x86-64")
	}
	dir := t.TempDir()
	venv := filepath.Join(dir, "venv")
	// pip of the outer Python installs into the inner one, which has none, in half of the time
	if out, err := exec.Command("python3", "-m", "venv", "--without-pip", venv).CombinedOutput(); err != nil {
		t.Skipf("there is no venv: %v\n%s", err, out)
	}
	python := filepath.Join(venv, "bin", "python")
	if err := exec.Command("python3", "-m", "pip", "--python", python, "--version").Run(); err != nil {
		t.Skip("there is no pip that installs for another Python")
	}
	program := filepath.Join(dir, "healc")
	build := goIn(nil, "build", "-o", program, "./cmd/healc")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.Output(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := wantsLittle(program); err != nil {
		t.Error(err)
	}
	raw, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	w := testWheel(raw)
	text, err := w.bytes()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, w.name())
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PATH="+filepath.Join(venv, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"),
		"HEAL_CACHE="+filepath.Join(dir, "cache"), "PYTHONPATH=", "PYTHONHOME=")
	run := func(want, command string, args ...string) {
		t.Helper()
		c := exec.Command(command, args...)
		c.Env, c.Dir = env, dir
		if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s %q: %v, without %q\n%s", command, args, err, want, out)
		}
	}
	run("Successfully installed heal-1.2.3", "python3", "-m", "pip", "--python", python, "install", "--no-index",
		"--no-deps", "--no-compile", name)
	run("healc ", filepath.Join(venv, "bin", "healc"), "version")
	run("healc ", python, "-m", "heal", "version")
	run("No broken requirements", "python3", "-m", "pip", "--python", python, "check")
	script, err := filepath.Abs("testdata/wheel.py")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, "doctor").CombinedOutput(); err != nil {
		t.Skipf("healc makes no machine code here: %v\n%s", err, out)
	}
	if _, err := exec.LookPath("ld"); err != nil {
		t.Skip(err)
	}
	run("it works", python, "-W", "error::SyntaxWarning", script)
}
