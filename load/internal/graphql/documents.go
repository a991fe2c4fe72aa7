package graphql

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"strings"
)

const folder = "documents"

//go:embed documents/*.graphql
var files embed.FS

// document is one persisted query: its text is registered before the load, then only its hash is sent.
type document struct {
	text string
	hash string // SHA-256 of the text, hexadecimal
}

// documents holds the documents by their names.
var documents = func() map[string]document {
	entries, err := files.ReadDir(folder)
	all := map[string]document{}
	for _, entry := range entries {
		var text []byte
		if text, err = files.ReadFile(folder + "/" + entry.Name()); err != nil {
			break
		}
		sum := sha256.Sum256(text)
		all[strings.TrimSuffix(entry.Name(), ".graphql")] = document{string(text), hex.EncodeToString(sum[:])}
	}
	if err != nil {
		panic(fmt.Sprintf("graphql: %v", err)) // the files are part of the program
	}
	return all
}()
