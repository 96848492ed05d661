package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"healc/tests/sample"
)

// installer is install.sh, seen from this folder.
var installer = filepath.Join("..", "..", "docs", "install.sh")

// fake is a healc that says its version, and as whose libLLVM is missing.
const fake = "#!/bin/sh\ncase $1 in\nversion) echo healc %s ;;\n*) echo system Fake; exit %d ;;\nesac\n"

// installs is a place to install into, and a release to take.
type installs struct {
	t                     *testing.T
	shell                 []string
	release, home, prefix string
	env                   []string
}

// newInstalls makes a release of two versions for this machine and one that does not start, with one for macOS and one
// for musl.
func newInstalls(t *testing.T, shell ...string) *installs {
	in := &installs{t: t, shell: shell, release: t.TempDir(), home: t.TempDir()}
	in.prefix = filepath.Join(in.home, ".local")
	in.env = []string{"HOME=" + in.home, "PATH=" + os.Getenv("PATH")}
	arch := "linux-" + runtime.GOARCH
	in.archive("1.0.0", arch, 0, file{"share/old/page", 0o644, []byte("old")})
	in.archive("1.1.0", arch, 3)
	in.archive("1.2.0", arch+"-musl", 0)
	in.archive("1.3.0", "darwin-arm64", 0)
	in.archive("1.4.0", arch, 0, file{"bin/healc", 0o755, []byte("#!/bin/sh\necho cannot; exit 1\n")})
	if err := sums(in.release); err != nil {
		t.Fatal(err)
	}
	return in
}

func (in *installs) archive(version, target string, doctor int, more ...file) {
	files := append(more, file{"share/man/man1/healc.1", 0o644, []byte(version)})
	if more == nil || more[0].name != "bin/healc" {
		files = append(files, file{"bin/healc", 0o755, fmt.Appendf(nil, fake, version, doctor)})
	}
	name := "healc-" + version + "-" + target
	var out bytes.Buffer
	if err := writeTar(&out, name, files, noon); err != nil {
		in.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(in.release, name+".tar.gz"), out.Bytes(), 0o644); err != nil {
		in.t.Fatal(err)
	}
}

// run runs install.sh, which succeeds or not, and says what it is wanted to say.
func (in *installs) run(ok bool, want string, args ...string) {
	in.t.Helper()
	script, err := filepath.Abs(installer)
	if err != nil {
		in.t.Fatal(err)
	}
	c := exec.Command(in.shell[0], append(append(in.shell[1:len(in.shell):len(in.shell)], script), args...)...)
	c.Env, c.Dir = in.env, in.home
	out, err := c.CombinedOutput()
	if (err == nil) != ok || !strings.Contains(string(out), want) {
		in.t.Errorf("%q: %v, not with %q\n%s", args, err, want, out)
	}
}

// has says which version is installed, "" for none.
func (in *installs) has(want string) {
	in.t.Helper()
	out, err := exec.Command(filepath.Join(in.prefix, "bin", "healc"), "version").Output()
	if got := strings.TrimSpace(strings.TrimPrefix(string(out), "healc ")); got != want {
		in.t.Errorf("version %q is installed, not %q: %v", got, want, err)
	}
}

func (in *installs) exists(name string) bool {
	_, err := os.Stat(filepath.Join(in.prefix, filepath.FromSlash(name)))
	return err == nil
}

// TestInstall: install.sh, in each shell that is here, one a day.
func TestInstall(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the releases of this test are for Linux")
	}
	day := sample.Today(t)
	for i, shell := range [][]string{{"sh"}, {"dash"}, {"bash", "--posix"}, {"busybox", "sh"}} {
		t.Run(shell[0], func(t *testing.T) {
			if !sample.Has(day, i, 4) {
				t.Skip("another day")
			}
			if _, err := exec.LookPath(shell[0]); err != nil {
				t.Skip(err)
			}
			in := newInstalls(t, shell...)
			if err := os.MkdirAll(filepath.Join(in.prefix, "bin"), 0o755); err != nil {
				t.Fatal(err)
			}
			mine := filepath.Join(in.prefix, "bin", "mine")
			if err := os.WriteFile(mine, nil, 0o755); err != nil {
				t.Fatal(err)
			}
			in.run(false, "nothing was installed into", "--uninstall")
			in.run(false, "there is no SHA256SUMS in /nowhere", "--from", "/nowhere")
			in.run(false, "--from says where")
			in.run(false, "has several versions, of which --version names one", "--from", in.release)
			in.run(false, "has no healc 3.0.0", "--from", in.release, "--version", "v3.0.0")
			in.run(false, "from / on, which 'here' does not", "--from", in.release, "--prefix", "here")
			in.run(false, "there is no option --frm", "--frm", in.release)
			in.run(false, "--from needs a value", "--from")
			in.has("")
			in.run(true, "is not on your PATH", "--from", in.release, "--version", "1.0.0")
			in.has("1.0.0")
			if !in.exists("share/old/page") {
				t.Error("a file of the archive is not there")
			}
			in.run(true, "Without libLLVM programs run slowly", "--from", in.release, "--version", "v1.1.0")
			in.has("1.1.0")
			if in.exists("share/old") || !in.exists("share/man/man1/healc.1") {
				t.Error("what the version before had is still there")
			}
			in.run(false, "nothing was installed, as this healc does not start: cannot", "--from", in.release,
				"--version", "1.4.0")
			in.has("1.1.0")
			in.run(true, "installed healc 1.2.0", "--from", in.release, "--libc", "musl")
			in.run(true, "was removed from", "--uninstall")
			if in.exists("bin/healc") || in.exists("share") || !in.exists("bin/mine") {
				t.Error("all that was installed is removed, and nothing else")
			}
		})
	}
}

// TestInstallFrom: releases at an address, damaged ones, other systems, every fourth day.
func TestInstallFrom(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the releases of this test are for Linux")
	}
	if !sample.Has(sample.Today(t), 0, 4) {
		t.Skip("another day")
	}
	in := newInstalls(t, "sh")
	server := httptest.NewServer(http.FileServer(http.Dir(in.release)))
	defer server.Close()
	fetcher := ""
	for _, name := range []string{"curl", "wget"} {
		if _, err := exec.LookPath(name); err == nil && fetcher == "" {
			fetcher = name
		}
	}
	if fetcher != "" {
		in.run(true, "installed healc 1.0.0", "--from", server.URL, "--version", "1.0.0")
		in.run(false, "SHA256SUMS cannot be had from", "--from", server.URL+"/no", "--version", "1.0.0")
	}
	if fetcher == "curl" {
		in.run(true, "installed healc 1.1.0", "--from", "file://"+in.release, "--version", "1.1.0")
		in.has("1.1.0")
	}

	in.archive("1.0.0", "linux-"+runtime.GOARCH, 0, file{"share/more", 0o644, nil})
	in.run(false, "its checksum is not that of SHA256SUMS", "--from", in.release, "--version", "1.0.0")
	if in.exists("share/more") {
		t.Error("a damaged archive is installed")
	}

	tools := t.TempDir()
	uname := func(system, machine string) {
		text := fmt.Sprintf("#!/bin/sh\ncase $1 in -s) echo %s ;; -m) echo %s ;; esac\n", system, machine)
		if err := os.WriteFile(filepath.Join(tools, "uname"), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	in.env[1] = "PATH=" + tools + ":" + os.Getenv("PATH")
	uname("Darwin", "arm64")
	in.run(true, "installed healc 1.3.0", "--from", in.release)
	uname("Darwin", "x86_64")
	in.run(false, "has no healc for darwin-amd64", "--from", in.release)
	uname("Linux", "riscv64")
	in.run(false, "no healc for processors of riscv64", "--from", in.release)
	uname("Plan9", "x86_64")
	in.run(false, "no healc for Plan9", "--from", in.release)
}

// TestInstallCut: a script that was fetched in part does nothing, wherever it ends.
func TestInstallCut(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the releases of this test are for Linux")
	}
	in := newInstalls(t, "sh")
	text, err := os.ReadFile(installer)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	day := sample.Today(t)
	for n := range len(lines) - 1 { // after the last there is nothing
		if !sample.Has(day, n, 16) {
			continue
		}
		c := exec.Command("sh", "-s", "--", "--from", in.release, "--version", "1.0.0")
		c.Env, c.Dir = in.env, in.home
		c.Stdin = strings.NewReader(strings.Join(lines[:n], ""))
		_ = c.Run() // which may say that the script has no end
		if left, err := os.ReadDir(in.home); err != nil || len(left) > 0 {
			t.Fatalf("the first %d lines leave %v, %v", n, left, err)
		}
	}
}

// TestInstallScript: shellcheck finds nothing in install.sh, and a release says in its copy where it is.
func TestInstallScript(t *testing.T) {
	if check, err := exec.LookPath("shellcheck"); err == nil {
		if out, err := exec.Command(check, installer).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
	text, err := os.ReadFile(installer)
	if err != nil {
		t.Fatal(err)
	}
	got, err := addressed(text, "https://example.org/heal/v1.2.3")
	if err != nil || !bytes.Contains(got, []byte("\nfrom=${HEAL_FROM:-https://example.org/heal/v1.2.3}\n")) {
		t.Errorf("%v\n%.600s", err, got)
	}
	if _, err := addressed(text, "https://example.org/$(id)"); err == nil {
		t.Error("an address that a shell would run is taken")
	}
}
