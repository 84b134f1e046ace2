// Swagger UI over the description of the API. What is tried goes out with the session of the reader.

const place = document.getElementById("api-documentation");

// Its own layout has a heading, a main part and a login: the page has all three.
const addresses = ({ React }) => ({
  components: {
    Addresses({ getComponent, specSelectors }) {
      const parts = specSelectors.specStr() ? ["SvgAssets", "errors", "FilterContainer", "operations"] : ["errors"];
      const elements = parts.map((name) => React.createElement(getComponent(name, true), { key: name }));
      return React.createElement("div", { className: "swagger-ui" }, elements);
    },
  },
});

window.SwaggerUIBundle({
  domNode: place,
  url: place.dataset.description,
  plugins: [addresses],
  layout: "Addresses",
  docExpansion: "none",
  filter: true,
  requestInterceptor(request) {
    request.headers["X-CSRFToken"] = document.querySelector("meta[name=csrf-token]").content;
    return request;
  },
});
