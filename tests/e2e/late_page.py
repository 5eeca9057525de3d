"""A script that makes all that a page hears, fetches and draws come late, each by a moment of its own, and still in order.

On a quick machine a page is whole before a test looks at it, so a test that reads it too early fails once in a hundred runs. With
CARPET_TEST_LATE set the browser tests run such pages, and it fails nearly every time.
"""

from __future__ import annotations

VARIABLE = "CARPET_TEST_LATE"

LATE = """
    {
        const later = setTimeout.bind(window), plainFetch = fetch.bind(window), plainFrame = requestAnimationFrame.bind(window);
        const pause = (atMost) => new Promise((done) => later(done, Math.random() ** 2 * atMost));

        window.WebSocket = class extends WebSocket {
            #heard = { open: [], message: [], close: [], error: [] };
            #before = Promise.resolve();

            constructor(...given) {
                super(...given);
                for (const [type, listeners] of Object.entries(this.#heard)) {
                    super.addEventListener(type, (event) => {
                        const waited = pause(300);
                        this.#before = this.#before.then(() => waited).then(() => [...listeners].forEach((each) => each.call(this, event)));
                    });
                }
            }

            addEventListener(type, listener) {
                this.#heard[type].push(listener);
            }
        };

        for (const type of ["open", "message", "close", "error"])
            Object.defineProperty(WebSocket.prototype, `on${type}`, { set(listener) { this.addEventListener(type, listener); } });

        window.fetch = async (...given) => {
            const answer = await plainFetch(...given);
            await pause(400);
            return answer;
        };

        window.requestAnimationFrame = (draw) => plainFrame(() => pause(200).then(() => plainFrame(draw)));
    }
"""
