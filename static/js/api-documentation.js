// Swagger UI over the description of the API. What is tried goes out with the session of the reader.

const place = document.getElementById("api-documentation");

window.SwaggerUIBundle({
  domNode: place,
  url: place.dataset.description,
  docExpansion: "none",
  defaultModelsExpandDepth: -1,
  filter: true,
  validatorUrl: null, // nothing is sent elsewhere
  requestInterceptor(request) {
    if (request.method && request.method !== "GET") request.headers["X-CSRFToken"] = place.dataset.csrf;
    return request;
  },
  onComplete() {
    place.querySelector("main")?.setAttribute("role", "group"); // the page has a main part already
  },
});
