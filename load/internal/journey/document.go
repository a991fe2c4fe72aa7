package journey

import (
	"context"

	"hopwise/load/internal/graphql"
	"hopwise/load/internal/outcome"
	"hopwise/load/internal/shop"
	"hopwise/load/internal/shopdata"
)

// Document reads one complete technical document; the tape sets its size.
const Document Name = "document"

var document = definition{
	name:    Document,
	senders: everyone,
	needs:   []string{"document_id"},
	draw:    func(d dice) Params { return Params{DocumentID: d.From(d.documents)} },
	graphQL: asks(
		func(c graphql.Client, e Entry) graphql.Variables {
			return graphql.Variables{"id": c.ID("Document", e.Params.DocumentID)}
		},
		func(data struct {
			Document graphql.Document `json:"document"`
		}, _ Params) (Answer, error) {
			return newDocumentAnswer(data.Document.Canonical()), nil
		},
	),
	transcoded: true,
	composed: func(ctx context.Context, s shop.Services, p Params) (Answer, error) {
		document, err := s.GetDocument(ctx, p.DocumentID)
		return newDocumentAnswer(document), err
	},
}

type documentAnswer shop.Document

func newDocumentAnswer(d shop.Document) *documentAnswer { return (*documentAnswer)(&d) }

func (a *documentAnswer) check(q Question) error {
	if err := checkID("document", a.ID, q.Params.DocumentID); err != nil {
		return err
	}
	canonical, err := Canonical(a)
	if want := shopdata.DocumentBytes(a.ID); err == nil && int64(len(canonical)) != want {
		return outcome.Wrong("document %d has %d bytes instead of %d", a.ID, len(canonical), want)
	}
	return err
}
