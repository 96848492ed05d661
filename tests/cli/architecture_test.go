package cli_test

import "testing"

// TestArchitecture runs the program that ARCHITECTURE.md shows in every form.
func TestArchitecture(t *testing.T) {
	const name = "ARCHITECTURE.md"
	var sessions []block
	commands := 0
	for _, b := range blocks(t, name) {
		switch b.lang {
		case "heal":
			checkProgram(t, name, b)
			sessions = append(sessions, b)
		case "console":
			commands++
			sessions = append(sessions, b)
		}
	}
	if commands == 0 {
		t.Fatalf("%s shows no session", name)
	}
	runSessions(t, name, sessions)
}
