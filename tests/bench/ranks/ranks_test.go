package main

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"healc/cmd/healc/ranks"
)

// asCommand is set for a test that is the command.
const asCommand = "HEAL_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" || ranks.Inside() {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestTable: the command measures C and healc in each row.
func TestTable(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip(err)
	}
	c := exec.Command(os.Args[0], "-connect", "tcp", "-n", "2", "-rounds", "2", "-largest", "64", "-source",
		"../peers/comm.c")
	c.Env = append(os.Environ(), asCommand+"=1")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range names {
		row := regexp.MustCompile(`(?m)^\| ` + name + ` \| (8|64)( \| \d+\.\d\d){6} \|$`)
		if n := len(row.FindAll(out, -1)); n != 2 {
			t.Errorf("%d rows of %s:\n%s", n, name, out)
		}
	}
}
