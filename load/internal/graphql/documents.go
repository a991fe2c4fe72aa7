package graphql

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

const folder = "documents"

//go:embed documents
var files embed.FS

// document is one persisted query: its text is registered before the load, then only its hash is sent.
type document struct {
	text string
	hash string // SHA-256 of the text, hexadecimal
	path string // path of its endpoint: the gateway's, or a service's
}

// federation is the folder of the documents that go to a router, at the gateway's endpoint.
const federation = "federation"

func (d document) reads() bool { return strings.HasPrefix(d.text, "query ") }

// documents holds the documents by their names; the folder of a service's documents is part of the name.
var documents = func() map[string]document {
	all := map[string]document{}
	err := fs.WalkDir(files, folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := files.ReadFile(file)
		sum := sha256.Sum256(text)
		name := strings.TrimSuffix(strings.TrimPrefix(file, folder+"/"), ".graphql")
		at := strings.TrimSuffix(strings.TrimPrefix(path.Dir(name), federation), ".")
		all[name] = document{string(text), hex.EncodeToString(sum[:]), path.Join(endpoint, at)}
		return err
	})
	if err != nil {
		panic(fmt.Sprintf("graphql: %v", err)) // the files are part of the program
	}
	return all
}()

// OfServices returns the names of the documents that go to services, in order.
func OfServices() []string {
	var names []string
	for name := range documents {
		if folder, _, found := strings.Cut(name, "/"); found && folder != federation {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
