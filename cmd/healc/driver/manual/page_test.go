package manual

import (
	"bytes"
	"strings"
	"testing"

	"healc/lang/diag"
)

// TestPages: every error code has a page that shows the code in what healc says about its example.
func TestPages(t *testing.T) {
	for _, e := range diag.Entries() {
		var page bytes.Buffer
		if err := ErrorPage(&page, strings.ToLower(string(e.Code))); err != nil {
			t.Errorf("%s: %v", e.Code, err)
			continue
		}
		kind := "error"
		if e.Warning {
			kind = "warning"
		}
		if e.Example != "" && !e.Runtime && !strings.Contains(page.String(), kind+"["+string(e.Code)+"]") {
			t.Errorf("the example of %s does not show it:\n%s", e.Code, page.String())
		}
	}
}
