// Package modules reads the files that a program imports. It touches neither disk nor network: an importer
// (scope.Importer) finds the files.
package modules
