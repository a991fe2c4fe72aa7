package main

// This file has the GraphQL gateway's responses, with the fields in the order of the generator's documents.

type response[T any] struct {
	Data T `json:"data"`
}

type connection[T any] struct {
	Edges []struct {
		Node T `json:"node"`
	} `json:"edges"`
}

type money struct {
	AmountMinor int64  `json:"amountMinor"`
	Currency    string `json:"currency"`
}

type reference struct {
	ID string `json:"id"`
}

type browseData struct {
	Products connection[struct {
		ID      string `json:"id"`
		Title   string `json:"title"`
		Stock   int64  `json:"stock"`
		Price   money  `json:"price"`
		Reviews []struct {
			ID     string `json:"id"`
			Rating int64  `json:"rating"`
			Title  string `json:"title"`
		} `json:"reviews"`
	}] `json:"products"`
}

type productData struct {
	Product struct {
		ID          string `json:"id"`
		Title       string `json:"title"`
		Description string `json:"description"`
		Category    string `json:"category"`
		Stock       int64  `json:"stock"`
		Price       money  `json:"price"`
	} `json:"product"`
}

type loginData struct {
	Me struct {
		ID    string `json:"id"`
		Email string `json:"email"`
		Name  string `json:"name"`
	} `json:"me"`
}

type orderHistoryData struct {
	Me struct {
		ID     string `json:"id"`
		Orders connection[struct {
			ID       string `json:"id"`
			Status   string `json:"status"`
			PlacedAt string `json:"placedAt"`
			Total    money  `json:"total"`
			Payment  struct {
				Status string `json:"status"`
			} `json:"payment"`
			Lines []struct {
				LineNumber int64 `json:"lineNumber"`
				Quantity   int64 `json:"quantity"`
				UnitPrice  money `json:"unitPrice"`
				Product    struct {
					ID    string `json:"id"`
					Title string `json:"title"`
				} `json:"product"`
			} `json:"lines"`
		}] `json:"orders"`
	} `json:"me"`
}

type checkoutData struct {
	Checkout struct {
		Order struct {
			ID     string `json:"id"`
			Status string `json:"status"`
			Total  money  `json:"total"`
			Lines  []struct {
				LineNumber int64     `json:"lineNumber"`
				Quantity   int64     `json:"quantity"`
				UnitPrice  money     `json:"unitPrice"`
				Product    reference `json:"product"`
			} `json:"lines"`
		} `json:"order"`
	} `json:"checkout"`
}

type updateProfileData struct {
	UpdateProfile struct {
		User struct {
			ID      string `json:"id"`
			Address struct {
				Recipient   string `json:"recipient"`
				Street      string `json:"street"`
				City        string `json:"city"`
				PostalCode  string `json:"postalCode"`
				CountryCode string `json:"countryCode"`
			} `json:"address"`
		} `json:"user"`
	} `json:"updateProfile"`
}

type orderStatusData struct {
	Order struct {
		ID      string `json:"id"`
		Status  string `json:"status"`
		Total   money  `json:"total"`
		Payment struct {
			Status string `json:"status"`
			Amount money  `json:"amount"`
		} `json:"payment"`
	} `json:"order"`
}

type bulkLinesData struct {
	OrderLines connection[struct {
		ID        string    `json:"id"`
		Quantity  int64     `json:"quantity"`
		UnitPrice money     `json:"unitPrice"`
		Product   reference `json:"product"`
		Order     struct {
			ID       string    `json:"id"`
			Status   string    `json:"status"`
			PlacedAt string    `json:"placedAt"`
			User     reference `json:"user"`
		} `json:"order"`
	}] `json:"orderLines"`
}

type documentData struct {
	Document struct {
		ID       string `json:"id"`
		Sections []struct {
			Title   string `json:"title"`
			Records []struct {
				Text  string  `json:"text"`
				Count int64   `json:"count"`
				Value float64 `json:"value"`
				OK    bool    `json:"ok"`
				At    string  `json:"at"`
				Price money   `json:"price"`
			} `json:"records"`
		} `json:"sections"`
	} `json:"document"`
}
