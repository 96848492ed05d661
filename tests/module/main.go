// Command module gives this module another path, in all files: in what Go imports, in go.mod of all modules of the
// repository, and in what documents and tests say.
//
//	go run ./tests/module example.org/owner/heal
//
// A path by which `go get` finds a module begins with a host, which has a dot.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./tests/module PATH, as example.org/owner/heal")
		os.Exit(2)
	}
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err == nil {
		err = Rename(strings.TrimSpace(string(root)), os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "module:", err)
		os.Exit(1)
	}
}
