package identity

import "testing"

// TestReleased: what is no release is not called one.
func TestReleased(t *testing.T) {
	for version, want := range map[string]bool{
		"v0.2.0": true, "v1.20.3": true, "v1.0.0-rc.1": true, "v1.0.0-beta": true,
		"": false, "(devel)": false, "v0.2": false, "1.2.3": false, "v0.2.0+dirty": false, "v1.0.0-rc.1+dirty": false,
		"v0.0.0-20261127115249-9b1a754499b5": false, "v0.2.1-0.20261127115249-9b1a754499b5": false,
		"v1.0.0-rc.1.0.20261127115249-9b1a754499b5": false, "v0.2.0\n": false,
	} {
		if released.MatchString(version) != want {
			t.Errorf("%q is a release: %v", version, !want)
		}
	}
}
