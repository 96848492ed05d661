package dynlib

import "testing"

func TestAbsent(t *testing.T) {
	for message, want := range map[string]bool{
		"cannot open shared object file: No such file or directory":                           true,
		"Error loading shared library liba.so: No such file or directory":                     true,
		"Error loading shared library libb.so: No such file or directory (needed by liba.so)": false,
		"invalid ELF header": false,
	} {
		if Absent("liba.so", message) != want {
			t.Errorf("%q: %v", message, !want)
		}
	}
}
