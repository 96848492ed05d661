package distro

import "testing"

// TestParse: the beginnings of /etc/os-release as distributions have it.
func TestParse(t *testing.T) {
	for _, c := range []struct{ text, name, llvm string }{
		{"PRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\nID=debian\n", "Debian GNU/Linux 13 (trixie)",
			"apt-get install libllvm19"},
		{"PRETTY_NAME=\"Linux Mint 22\"\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", "Linux Mint 22",
			"apt-get install libllvm19"},
		{"ID=fedora\nPRETTY_NAME='Fedora Linux 43'\n", "Fedora Linux 43", "dnf install llvm-libs"},
		{"ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", "", "dnf install llvm-libs"},
		{"ID=manjaro\nID_LIKE=arch\n", "", "pacman -S llvm-libs"},
		{"ID=alpine\nPRETTY_NAME=\"Alpine Linux v3.22\"\n", "Alpine Linux v3.22", "apk add llvm19-libs"},
		{"ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\n", "", "zypper install libLLVM19"},
		{"# nothing is known of it\nID=plan9\nPRETTY_NAME=\"Plan 9\"\n", "Plan 9", ""},
		{"", "", ""},
	} {
		s := Parse(c.text)
		got := ""
		if s.Known() {
			got = s.Install(s.Package(LLVM))
		}
		if s.Name != c.name || got != c.llvm || s.Known() != (c.llvm != "") {
			t.Errorf("%q is %q, with %q", c.text, s.Name, got)
		}
	}
}

// TestOffered: of what there is, what healc looks for first.
func TestOffered(t *testing.T) {
	versions := []string{"19", "22", "18"}
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"libllvm14", "libllvm18", "libllvm22", "libllvm19"}, "libllvm19"},
		{[]string{"libllvm18", "libllvm22t64"}, "libllvm18"},
		{[]string{"libllvm14"}, "libllvm19"},
		{nil, "libllvm19"},
	} {
		if got := firstOf(c.names, "libllvm", versions, "libllvm19"); got != c.want {
			t.Errorf("of %q, %s is offered", c.names, got)
		}
	}
	unknown := Parse("ID=plan9")
	if p := unknown.Offered(LLVM, versions); p != "" || unknown.Install("x") != "" {
		t.Errorf("a system that is not known offers %q", p)
	}
}
