// A page from a server offers its chapter in Compiler Explorer, which fetches the file by an #include of its address; a page from
// disk has no address.
document.addEventListener("DOMContentLoaded", () => {
    if (!location.protocol.startsWith("https")) {
        return;
    }
    for (const link of document.querySelectorAll("a.explorer")) {
        const file = new URL(link.dataset.file, location.href).href;
        const state = {
            sessions: [
                {
                    id: 1,
                    language: "cuda",
                    source: `#include <${file}>\n`,
                    compilers: [{ id: "nvcc125u1", options: "-O3 -std=c++17 -gencode arch=compute_90a,code=sm_90a" }],
                },
            ],
        };
        link.href = "https://godbolt.org/clientstate/" + encodeURIComponent(btoa(JSON.stringify(state)));
        link.hidden = false;
    }
});
