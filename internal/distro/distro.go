// Package distro knows how distributions of Linux call what healc opens and starts, so that whoever lacks it is told
// what to install.
package distro

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
)

// Need is what healc takes from the system.
type Need int

const (
	LLVM   Need = iota // libLLVM, which makes machine code
	Linker             // ld or lld, which makes shared libraries
	MPI                // a library of MPI with its launcher
	GPU                // the driver of NVIDIA
)

// Needs are all of them, what is needed most first.
var Needs = []Need{LLVM, Linker, MPI, GPU}

func (n Need) String() string {
	return [...]string{"machine code", "shared libraries", "ranks below mpirun", "programs on GPUs"}[n]
}

// family is the distributions that share names of packages.
type family struct {
	ids      []string // of os-release
	install  string
	packages [4]string // by need; "" where the distribution has none
}

var families = []family{
	{[]string{"debian", "ubuntu"}, "apt-get install", [...]string{"libllvm19", "binutils", "mpich", "nvidia-driver"}},
	{[]string{"fedora", "rhel", "centos"}, "dnf install", [...]string{"llvm-libs", "binutils", "mpich", ""}},
	{[]string{"arch"}, "pacman -S", [...]string{"llvm-libs", "binutils", "openmpi", "nvidia-utils"}},
	{[]string{"alpine"}, "apk add", [...]string{"llvm19-libs", "binutils", "", ""}},
	{[]string{"suse", "opensuse"}, "zypper install", [...]string{"libLLVM19", "binutils", "mpich", ""}},
}

// System is a distribution. The zero value is one that is not known.
type System struct {
	Name string // as it calls itself
	*family
}

// Here is the distribution of this machine.
var Here = sync.OnceValue(func() System {
	for _, file := range []string{"/etc/os-release", "/usr/lib/os-release"} {
		if text, err := os.ReadFile(file); err == nil {
			return Parse(string(text))
		}
	}
	return System{}
})

// Parse reads the text of /etc/os-release: a distribution is of the family of its ID, else of the first that it is
// like.
func Parse(osRelease string) System {
	vars := map[string]string{}
	for line := range strings.Lines(osRelease) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			vars[key] = strings.Trim(value, `"'`)
		}
	}
	s := System{Name: vars["PRETTY_NAME"]}
	for _, id := range strings.Fields(vars["ID"] + " " + vars["ID_LIKE"]) {
		for i := range families {
			if slices.Contains(families[i].ids, id) {
				s.family = &families[i]
				return s
			}
		}
	}
	return s
}

// Known reports whether the names of packages are known.
func (s System) Known() bool { return s.family != nil }

// Package is the name of the package for a need, "" where there is none or none is known.
func (s System) Package(n Need) string {
	if s.family == nil {
		return ""
	}
	return s.packages[n]
}

// Install is the command that installs packages, "" where it is not known.
func (s System) Install(packages ...string) string {
	if s.family == nil || len(packages) == 0 {
		return ""
	}
	return s.install + " " + strings.Join(packages, " ")
}

// Offered is Package, but for libLLVM of Debian and its like, whose releases have different versions: the first of
// versions that the lists of apt on this machine have.
func (s System) Offered(n Need, versions []string) string {
	if n == LLVM && s.Known() && s.install == "apt-get install" {
		if names, err := exec.Command("apt-cache", "pkgnames", "libllvm").Output(); err == nil {
			return firstOf(strings.Fields(string(names)), "libllvm", versions, s.Package(n))
		}
	}
	return s.Package(n)
}

// firstOf is the first of prefix with a version that is among names.
func firstOf(names []string, prefix string, versions []string, otherwise string) string {
	for _, v := range versions {
		if slices.Contains(names, prefix+v) {
			return prefix + v
		}
	}
	return otherwise
}
