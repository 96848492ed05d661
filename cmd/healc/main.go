// Command healc compiles, runs, tests and explains Heal programs. docs/cli.md describes its commands.
package main

import (
	"os"

	"healc/cmd/healc/cli"
)

func main() {
	paceGarbage()
	os.Exit(cli.Main())
}
