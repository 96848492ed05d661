package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"healc/cmd/healc/cli"
	"healc/tests/sample"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// TestArchives: what is in an archive is sorted, of root, and of the time of the release, whatever order it came in.
func TestArchives(t *testing.T) {
	files := []file{{"share/b", 0o644, []byte("b")}, {"bin/healc", 0o755, []byte("program")}, {"share/a", 0o644, nil}}
	turned := slices.Clone(files)
	slices.Reverse(turned)
	var one, two bytes.Buffer
	for _, err := range []error{writeTar(&one, "healc-1", files, noon), writeTar(&two, "healc-1", turned, noon)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Error("the order of files changes a tar")
	}
	zr, err := gzip.NewReader(&one)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		executable := h.Typeflag == tar.TypeDir || h.Name == "healc-1/bin/healc"
		if h.Uid != 0 || h.Uname != "root" || !h.ModTime.Equal(noon) || (h.Mode == 0o755) != executable {
			t.Errorf("%s is of %d %s, %v, %o", h.Name, h.Uid, h.Uname, h.ModTime, h.Mode)
		}
	}
	want := "healc-1/ healc-1/bin/ healc-1/share/ healc-1/bin/healc healc-1/share/a healc-1/share/b"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("the tar has %s", got)
	}

	one.Reset()
	if err := writeZip(&one, "healc-1", turned, noon); err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(one.Bytes()), int64(one.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if len(z.File) != 3 || z.File[0].Name != "healc-1/bin/healc" || !z.File[0].Modified.Equal(noon) {
		t.Errorf("the zip begins with %s of %v", z.File[0].Name, z.File[0].Modified)
	}
	if err := writeZip(&one, "healc-1", append(files, files[0]), noon); err == nil {
		t.Error("two files have one name")
	}
}

// TestLicenses: licences are known by what they say, however it is broken into lines.
func TestLicenses(t *testing.T) {
	const bsd = "Redistribution and use in\nsource and binary forms, with or without"
	for text, want := range map[string]string{
		bsd: "BSD-2-Clause", bsd + " ... Neither  the name of Google": "BSD-3-Clause",
		"Permission is hereby granted, free of charge,\n to any person obtaining a copy": "MIT",
		"all rights reserved": "",
	} {
		if got := licenseOf(text); got != want {
			t.Errorf("%q is %q", text, got)
		}
	}
	dir := t.TempDir()
	m := module{path: "example.org/x"}
	if err := m.read(dir); err == nil || !strings.Contains(err.Error(), "module example.org/x is not known") {
		t.Errorf("a module without a licence: %v", err)
	}
	const mit = "Permission is hereby granted, free of charge, to any person obtaining a copy"
	for name, text := range map[string]string{"LICENSE-MIT": mit, "NOTICE": "by us", "license.go": "package x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	err := m.read(dir)
	if text := string(licenseTexts([]module{m})); err != nil || m.license != "MIT" || !strings.Contains(text, "by us") {
		t.Errorf("%v, %q: %s", err, m.license, text)
	}
}

// TestBill: a bill of materials has what CycloneDX asks for, and a number of its own that is the same next time.
func TestBill(t *testing.T) {
	modules := []module{{path: std, version: "1.26.8", license: "BSD-3-Clause"},
		{path: "example.org/x", version: "v1.2.3", license: "MIT"}}
	serial := func(version string) string {
		r := &release{source: source{version: version, time: noon}}
		text, err := r.bill(modules)
		if err != nil {
			t.Fatal(err)
		}
		var bill struct {
			BOMFormat, SpecVersion, SerialNumber string
			Metadata                             struct{ Timestamp string }
			Components                           []struct {
				Type, Name, Version, PURL string
				Licenses                  []struct{ License struct{ ID string } }
			}
		}
		if err := json.Unmarshal(text, &bill); err != nil {
			t.Fatal(err)
		}
		if bill.BOMFormat != "CycloneDX" || bill.SpecVersion != "1.5" ||
			bill.Metadata.Timestamp != "2026-11-27T12:00:00Z" || len(bill.Components) != 2 {
			t.Fatalf("%s", text)
		}
		if x := bill.Components[1]; x.Type != "library" || x.PURL != "pkg:golang/example.org/x@v1.2.3" ||
			x.Licenses[0].License.ID != "MIT" {
			t.Errorf("%+v", x)
		}
		return bill.SerialNumber
	}
	if a, b := serial("1.0.0"), serial("1.0.1"); a == b || a != serial("1.0.0") || len(a) != len("urn:uuid:")+36 {
		t.Errorf("the numbers are %s and %s", a, b)
	}
}

// TestManual: each command has a page, with all its flags, in which man finds nothing wrong, a part of them each day.
func TestManual(t *testing.T) {
	pages := manual(cli.Commands(), "1.0.0", noon)
	for _, name := range []string{"healc.1", "healc-run.1", "healc-cache-ls.1", "healc-doctor.1"} {
		if pages[name] == "" {
			t.Errorf("there is no %s: %d pages", name, len(pages))
		}
	}
	page := pages["healc-run.1"]
	if !strings.Contains(page, `\fB\-\-entry\fR`) || !strings.Contains(page, ".SH EXAMPLES") {
		t.Errorf("the page of run is\n%s", page)
	}
	man, err := exec.LookPath("man")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	args := []string{"--warnings=all", "-E", "UTF-8", "-l"}
	day := sample.Today(t)
	for i, name := range slices.Sorted(maps.Keys(pages)) {
		text := pages[name]
		if !sample.Has(day, i, 16) {
			continue
		}
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, file)
	}
	c := exec.Command(man, args...)
	c.Env = append(os.Environ(), "MANWIDTH=80", "LC_ALL=C.UTF-8")
	var wrong bytes.Buffer
	c.Stderr = &wrong
	if out, err := c.Output(); err != nil || wrong.Len() > 0 || len(out) < 200*(len(args)-4) {
		t.Errorf("%v, %d bytes\n%s", err, len(out), &wrong)
	}
}

// TestSource: the version is that of a tag, and of any other commit one before it.
func TestSource(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "")
	t.Setenv("HEAL_VERSION", "")
	dir := t.TempDir()
	t.Chdir(dir)
	if _, err := sourceHere(); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH=SECONDS") {
		t.Errorf("without git: %v", err)
	}
	write := func(text string) {
		if err := os.WriteFile("f", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	commit(t, ".")
	is := func(pattern string) {
		t.Helper()
		s, err := sourceHere()
		if ok, _ := filepath.Match(pattern, s.version); err != nil || !ok || !s.vcs || !s.time.Equal(noon) {
			t.Errorf("%+v, %v, not %s", s, err, pattern)
		}
	}
	is("[0-9]*.[0-9]*.[0-9]*-dev.20261127.g????????")
	if _, err := git("tag", "v0.8.7"); err != nil {
		t.Fatal(err)
	}
	is("0.8.7")
	write("two")
	is("*-dev.20261127.g????????.changed")
	t.Setenv("HEAL_VERSION", "1.2.3")
	is("1.2.3")
	t.Setenv("SOURCE_DATE_EPOCH", "soon")
	if _, err := sourceHere(); err == nil {
		t.Error("soon is a time")
	}
}

// commit makes a repository of a folder, with one commit of noon.
func commit(t *testing.T, dir string) {
	t.Helper()
	at := "2026-11-27T12:00:00Z"
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A", "-f"}, {"-c", "user.name=a",
		"-c", "user.email=a@b.invalid", "-c", "commit.gpgsign=false", "commit", "-q", "-m", "one"}} {
		c := exec.Command("git", args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GIT_AUTHOR_DATE="+at, "GIT_COMMITTER_DATE="+at)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

// TestReproducible: releases of one commit that are made in two folders are the same to the byte, the second of which
// is compiled anew.
func TestReproducible(t *testing.T) {
	if !sample.All() {
		t.Skip(sample.Long + " compiles the compiler twice for each target")
	}
	t.Setenv("SOURCE_DATE_EPOCH", "")
	t.Setenv("HEAL_VERSION", "")
	t.Chdir(filepath.Join("..", ".."))
	nfpm := nfpmHere(t)
	list, err := git("ls-files", "--cached", "--others", "--exclude-standard")
	if err != nil {
		t.Skip(err)
	}
	roots := [2]string{t.TempDir(), t.TempDir()}
	for _, root := range roots {
		for name := range strings.Lines(list) {
			copied(t, strings.TrimSpace(name), filepath.Join(root, strings.TrimSpace(name)))
		}
		commit(t, root)
		tag := exec.Command("git", "tag", "v0.8.7")
		tag.Dir = root
		if err := tag.Run(); err != nil {
			t.Fatal(err)
		}
	}
	var releases [2]string
	for i, root := range roots {
		if i > 0 {
			t.Setenv("GOCACHE", t.TempDir())
		}
		t.Chdir(root)
		releases[i] = filepath.Join(root, "dist")
		r := &release{out: releases[i], nfpm: nfpm, maintainer: "a <a@b.invalid>"}
		if err := r.make(""); err != nil {
			t.Fatal(err)
		}
	}
	same(t, releases[0], releases[1])
	complete(t, releases[0], nfpm != "")
	works(t, releases[0])
}

// complete: a release of v0.8.7 has a file for each target, and no others than it should.
func complete(t *testing.T, dir string, packages bool) {
	t.Helper()
	want := []string{"Containerfile", "install.sh", sumsFile, "healc-0.8.7.cdx.json", "healc-0.8.7-windows-amd64.zip"}
	for _, target := range []string{"linux-amd64", "linux-arm64", "linux-amd64-musl", "linux-arm64-musl",
		"darwin-amd64", "darwin-arm64"} {
		want = append(want, "healc-0.8.7-"+target+".tar.gz")
	}
	for _, platform := range []string{"manylinux2014_x86_64.manylinux_2_17_x86_64",
		"manylinux2014_aarch64.manylinux_2_17_aarch64", "musllinux_1_2_x86_64", "musllinux_1_2_aarch64",
		"macosx_12_0_x86_64", "macosx_12_0_arm64", "win_amd64"} {
		want = append(want, "heal-0.8.7-py3-none-"+platform+".whl")
	}
	if packages {
		want = append(want, "healc_0.8.7_amd64.deb", "healc_0.8.7_arm64.deb", "healc-0.8.7-1.x86_64.rpm",
			"healc-0.8.7-1.aarch64.rpm")
	}
	slices.Sort(want)
	if got := namesIn(t, dir); !slices.Equal(got, want) {
		t.Errorf("the files are %q, not %q", got, want)
	}
}

// namesIn are the names of the files of a folder, sorted.
func namesIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestRefused: a release is for targets that there are, and is written over nothing.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	r := &release{out: dir}
	err := r.make("linux-amd64,linux-mips")
	if err == nil || !strings.Contains(err.Error(), "linux-mips is no target") {
		t.Errorf("a target that there is not: %v", err)
	}
	mine := filepath.Join(dir, "healc")
	if err := os.WriteFile(mine, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.make(""); err == nil || !strings.Contains(err.Error(), "is not empty: it has healc") {
		t.Errorf("a folder with a file: %v", err)
	}
	if text, err := os.ReadFile(mine); err != nil || string(text) != "mine" {
		t.Errorf("the file is %q, %v", text, err)
	}
}

// nfpmHere is the program that `make dist` has built, or a new one, "" where it cannot be had.
func nfpmHere(t *testing.T) string {
	built, err := filepath.Abs(filepath.Join(".tools", "nfpm"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(built); err == nil {
		return built
	}
	built = filepath.Join(t.TempDir(), "nfpm")
	c := exec.Command("go", "build", "-o", built, "github.com/goreleaser/nfpm/v2/cmd/nfpm")
	c.Dir = filepath.Join("internal", "packaging", "nfpm")
	if out, err := c.CombinedOutput(); err != nil {
		t.Logf("without packages, as nfpm cannot be had: %v\n%s", err, out)
		return ""
	}
	return built
}

// copied copies a file with its mode; one that is listed and was removed is left out.
func copied(t *testing.T, from, to string) {
	t.Helper()
	st, err := os.Lstat(from)
	if err != nil || !st.Mode().IsRegular() {
		return
	}
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, text, st.Mode())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// same: two folders have the same files.
func same(t *testing.T, a, b string) {
	t.Helper()
	names := namesIn(t, a)
	if other := namesIn(t, b); !slices.Equal(names, other) {
		t.Fatalf("the files are %q and %q", names, other)
	}
	for _, name := range names {
		one, err := os.ReadFile(filepath.Join(a, name))
		if err != nil {
			t.Fatal(err)
		}
		two, err := os.ReadFile(filepath.Join(b, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(one, two) {
			t.Errorf("%s differs, of %d and %d bytes", name, len(one), len(two))
		}
	}
}

// works: the program of a release has the version of its tag, and checksums are those of its files.
func works(t *testing.T, dir string) {
	t.Helper()
	c := exec.Command("sha256sum", "--check", "--quiet", sumsFile)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := exec.Command("uname", "-sm").Output(); err != nil || string(out) != "Linux x86_64\n" {
		t.Logf("its program does not run on %s", out)
		return
	}
	for name, loader := range map[string]string{"linux-amd64": "", "linux-amd64-musl": muslLoader["amd64"]} {
		if _, err := os.Stat(loader); loader != "" && err != nil {
			t.Logf("without %s, as there is no musl", name)
			continue
		}
		to := t.TempDir()
		name = "healc-0.8.7-" + name
		archive := filepath.Join(dir, name+".tar.gz")
		if out, err := exec.Command("tar", "-xzf", archive, "-C", to).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		healc := filepath.Join(to, name, "bin", "healc")
		out, err := exec.Command(healc, "version").Output()
		if err != nil || !strings.HasPrefix(string(out), "healc 0.8.7 ") {
			t.Errorf("%s of v0.8.7 says %s, %v", name, out, err)
		}
		run := exec.Command(healc, "run", "--backend", "interp", doc+"examples/life.heal")
		run.Dir = filepath.Join(to, name)
		if out, err := run.Output(); err != nil || !strings.HasSuffix(string(out), "\n [0 0 0 0 0 0]]\n") {
			t.Errorf("%s runs life.heal: %s, %v", name, out, err)
		}
	}
}

// TestGiveStack: the size of threads' stacks is written into a program, which runs as before.
func TestGiveStack(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this test is a program of Linux")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "program")
	copied(t, self, program)
	if err := giveStack(program); err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_GNU_STACK && p.Memsz == threadStack {
			now, err := exec.Command(program, "-test.run", "^$").CombinedOutput()
			if err != nil {
				t.Errorf("it does not run any more: %v\n%s", err, now)
			}
			return
		}
	}
	t.Errorf("the stack is not in %v", f.Progs)
}
