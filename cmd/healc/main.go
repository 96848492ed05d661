// Command healc compiles, runs, tests and explains Heal programs. docs/cli.md describes its commands.
package main

import (
	"os"

	"healc/cmd/healc/cli"
)

func main() { os.Exit(cli.Main()) }
