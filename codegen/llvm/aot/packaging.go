package aot

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

// Files are the names of what was written beside each other: "" is not there. The files may be called anything, the
// library has a name of C.
type Files struct {
	Source  string // the program
	Name    string // of the library, as others look for it
	Shared  string
	SoName  string // of the shared library, where it is not called as its file
	Static  string
	Version string // as 1.2.3, "" where it has none
}

// pkgConfigText is a file's name in a line of pkg-config, which takes apart what is left as a shell does.
func pkgConfigText(file string) string { return notPlain.ReplaceAllString(file, `\$0`) }

var notPlain = regexp.MustCompile(`[^\pL\pN_.+@:/-]`)

// cmakeText is a file's name in a string of CMake.
var cmakeText = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, ";", `\;`)

// staticNeeds is what an object needs of the system.
var staticNeeds = []string{"-lm", "-lpthread", "-lgcc"}

// PkgConfig is a file for pkg-config, in the folder of the library and its header, wherever that is moved to. It
// names the shared library where there is one.
func PkgConfig(f *Files) string {
	var b strings.Builder
	version := cmp.Or(f.Version, "0") // pkg-config wants one
	fmt.Fprintf(&b, "Name: %s\nDescription: functions of %s\nVersion: %s\nCflags: -I${pcfiledir}\n",
		f.Name, f.Source, version)
	switch {
	case f.Shared != "":
		fmt.Fprintf(&b, "Libs: -L${pcfiledir} -l:%s\n", pkgConfigText(f.Shared))
	default:
		fmt.Fprintf(&b, "Libs: -L${pcfiledir} -l:%s %s\n", pkgConfigText(f.Static),
			strings.Join(staticNeeds, " "))
	}
	return b.String()
}

// CMake is a package file of CMake, for find_package(NAME CONFIG) in the folder of the library: it has the targets
// NAME::NAME, the shared library, and NAME::static.
func CMake(f *Files) string {
	var b strings.Builder
	if f.Version != "" {
		fmt.Fprintf(&b, "set(%s_VERSION %s)\n", f.Name, f.Version)
	}
	soName := cmp.Or(f.SoName, f.Shared)
	target := func(name, kind, file string, needs []string) {
		fmt.Fprintf(&b, "if(NOT TARGET %[1]s)\n  add_library(%[1]s %[2]s IMPORTED)\n"+
			"  set_target_properties(%[1]s PROPERTIES\n    IMPORTED_LOCATION \"${CMAKE_CURRENT_LIST_DIR}/%[3]s\"\n"+
			"    INTERFACE_INCLUDE_DIRECTORIES \"${CMAKE_CURRENT_LIST_DIR}\"", name, kind, cmakeText.Replace(file))
		if len(needs) > 0 {
			all := strings.ReplaceAll(strings.Join(needs, ";"), "-l", "")
			fmt.Fprintf(&b, "\n    INTERFACE_LINK_LIBRARIES \"%s\"", all)
		}
		if kind == "SHARED" {
			fmt.Fprintf(&b, "\n    IMPORTED_SONAME \"%s\"", cmakeText.Replace(soName))
		}
		b.WriteString(")\nendif()\n")
	}
	if f.Shared != "" {
		target(f.Name+"::"+f.Name, "SHARED", f.Shared, nil)
	}
	if f.Static != "" {
		target(f.Name+"::static", "STATIC", f.Static, staticNeeds)
	}
	return b.String()
}
