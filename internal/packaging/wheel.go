package main

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"debug/macho"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// pythonPackage is the package heal of a wheel.
//
//go:embed heal/*.py heal/py.typed
var pythonPackage embed.FS

// wheel writes the wheel of a target, from which pip installs healc and the package heal. A wheel is a zip with a list
// of what is in it; its form is that of PyPA's binary distribution format, 1.0.
func (r *release) wheel(t target, program string, modules []module, bill []byte) error {
	version, err := pythonVersion(r.version)
	if err != nil {
		return err
	}
	tags, err := wheelTags(t, program)
	if err != nil {
		return fmt.Errorf("the wheel for %s: %w", t, err)
	}
	binary, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	license, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	name := "healc"
	if t.os == "windows" {
		name += ".exe"
	}
	w := wheel{version: version, tags: tags, url: r.url, time: r.time, program: file{name, 0o755, binary},
		notes: []file{
			{"licenses/LICENSE", 0o644, license},
			{"licenses/third-party-licenses.txt", 0o644, licenseTexts(modules)},
			{"sboms/sbom.cdx.json", 0o644, bill},
		}}
	text, err := w.bytes()
	if err != nil {
		return err
	}
	return r.write(w.name(), text)
}

// wheel is what a wheel is made of.
type wheel struct {
	version string   // as Python has it
	tags    []string // of the platforms
	url     string
	time    time.Time
	program file
	notes   []file // beside the metadata
}

func (w *wheel) name() string {
	return "heal-" + w.version + "-py3-none-" + strings.Join(w.tags, ".") + ".whl"
}

// bytes are the wheel, which nothing but its parts decides.
func (w *wheel) bytes() ([]byte, error) {
	stem := "heal-" + w.version
	info := stem + ".dist-info/"
	files := []file{{stem + ".data/scripts/" + w.program.name, w.program.mode, w.program.data}}
	entries, err := pythonPackage.ReadDir("heal")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		text, err := pythonPackage.ReadFile("heal/" + e.Name())
		if err != nil {
			return nil, err
		}
		text = bytes.ReplaceAll(text, []byte(`"_VERSION_"`), []byte(`"`+w.version+`"`))
		files = append(files, file{"heal/" + e.Name(), 0o644, text})
	}
	for _, f := range w.notes {
		files = append(files, file{info + f.name, f.mode, f.data})
	}
	kind := "Wheel-Version: 1.0\nGenerator: heal internal/packaging\nRoot-Is-Purelib: false\n"
	for _, tag := range w.tags {
		kind += "Tag: py3-none-" + tag + "\n"
	}
	files = append(files, file{info + "WHEEL", 0o644, []byte(kind)},
		file{info + "METADATA", 0o644, []byte(w.metadata())})
	if files, err = sorted(files); err != nil {
		return nil, err
	}
	record := ""
	for _, f := range files {
		sum := sha256.Sum256(f.data)
		record += fmt.Sprintf("%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
	}
	record += info + "RECORD,,\n"
	files = append(files, file{info + "RECORD", 0o644, []byte(record)})
	var out bytes.Buffer
	err = writeZip(&out, "", files, w.time)
	return out.Bytes(), err
}

func (w *wheel) metadata() string {
	url := ""
	if w.url != "" {
		url = "Project-URL: Files, " + w.url + "\n"
	}
	return "Metadata-Version: 2.4\nName: heal\nVersion: " + w.version + "\n" +
		"Summary: A language for tensor programs, compiled to machine code and called from Python\n" + url +
		"License-Expression: Apache-2.0\n" +
		"License-File: LICENSE\n" +
		"License-File: third-party-licenses.txt\n" +
		"Requires-Python: >=3.7\n" +
		"Provides-Extra: numpy\nRequires-Dist: numpy; extra == \"numpy\"\n" +
		"Classifier: Programming Language :: Python :: 3\n" +
		"Classifier: Typing :: Typed\n" +
		"Description-Content-Type: text/markdown\n\n" + `# Heal

` + "```python" + `
import heal

stats = heal.compile("pub fn mean[N](x: f64[N]) -> f64 = +/(x) / (N as f64)")
stats.mean([1, 2, 6])
` + "```" + `

Arguments are arrays of NumPy, tensors of PyTorch and whatever else has DLPack in memory of the CPU, without copies, or
lists. The wheel has the compiler, healc, which is then on the PATH. It makes machine code on Linux with libLLVM, 16 to
22, and a linker, ld or lld; ` + "`healc doctor`" + ` says whether they are there and which package has them.
`
}

var isVersion = regexp.MustCompile(`^(\d+\.\d+\.\d+)(?:-(dev|alpha|beta|rc)\.(\d+)(?:\.([0-9A-Za-z.]+))?)?$`)

// pythonVersion is a version as Python writes it: 1.2.3-dev.20261127.g0123 is 1.2.3.dev20261127+g0123.
func pythonVersion(version string) (string, error) {
	m := isVersion.FindStringSubmatch(version)
	if m == nil {
		return "", fmt.Errorf("version %s cannot be written for Python: it is no 1.2.3, nor 1.2.3- with dev, alpha, "+
			"beta or rc, and .N", version)
	}
	out := m[1]
	if m[2] != "" {
		out += map[string]string{"dev": ".dev", "alpha": "a", "beta": "b", "rc": "rc"}[m[2]] + m[3]
	}
	if m[4] != "" {
		out += "+" + strings.ToLower(m[4])
	}
	return out, nil
}

// wheelTags are the platforms that a program runs on, as pip names them, oldest first. They follow from what is in it.
func wheelTags(t target, program string) ([]string, error) {
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[t.arch]
	switch {
	case t.os == "windows":
		return []string{"win_" + t.arch}, nil
	case t.os == "darwin":
		major, minor, err := leastMacOS(program)
		if t.arch == "arm64" {
			machine = t.arch
		}
		return []string{fmt.Sprintf("macosx_%d_%d_%s", major, minor, machine)}, err
	}
	if err := wantsLittle(program); err != nil {
		return nil, err
	}
	if t.libc == musl {
		return []string{"musllinux_1_2_" + machine}, nil // it was tried with musl 1.2
	}
	return []string{"manylinux2014_" + machine, "manylinux_2_17_" + machine}, nil
}

// wanted are the functions of the C library that healc calls. GNU's has all of them, by these names and without
// a version, since 2.17, the oldest of AArch64. What is to be added here has to be in that one, and in musl.
var wanted = strings.Fields(`abort dlclose dlerror dlopen dlsym free malloc nanosleep pthread_attr_destroy
	pthread_attr_getstacksize pthread_attr_init pthread_cond_broadcast pthread_create pthread_detach pthread_mutex_lock
	pthread_mutex_unlock pthread_setspecific pthread_sigmask setenv sigfillset unsetenv`)

// wantsLittle checks what a program of Linux takes of the system by what the tags manylinux ask: libraries that
// every system has, and of them functions that the oldest has.
func wantsLittle(program string) error {
	f, err := elf.Open(program)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return err
	}
	for _, l := range libraries {
		if !slices.Contains([]string{"libc.so.6", "libdl.so.2", "libpthread.so.0"}, l) {
			return fmt.Errorf("%s wants %s, which not every system has", program, l)
		}
	}
	symbols, err := f.ImportedSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return err
	}
	for _, s := range symbols {
		if s.Version != "" || !slices.Contains(wanted, s.Name) {
			return fmt.Errorf("%s wants the function %s %s: whether the C library of 2.17 has it is not known "+
				"(`wanted`)", program, s.Name, s.Version)
		}
	}
	return nil
}

// leastMacOS is the version of macOS that a program needs, which its linker has written into it (LC_BUILD_VERSION).
func leastMacOS(program string) (major, minor uint32, err error) {
	f, err := macho.Open(program)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = f.Close() }()
	const buildVersion = 0x32
	for _, l := range f.Loads {
		raw := l.Raw()
		if len(raw) >= 16 && f.ByteOrder.Uint32(raw) == buildVersion {
			least := f.ByteOrder.Uint32(raw[12:])
			return least >> 16, least >> 8 & 0xff, nil
		}
	}
	return 0, 0, fmt.Errorf("%s does not say which macOS it needs", program)
}
