// The question of the frontier: bytes, parameters, privacy and clients lead to one of the answers in the page.
(() => {
  const form = document.getElementById("question");
  const place = document.getElementById("answer");
  const { settings, word, sizes } = JSON.parse(document.getElementById("answers").textContent);

  const reply = () => {
    const asked = Object.fromEntries(new FormData(form));
    const [bytes, parameters] = [Number(asked.bytes), Number(asked.parameters)];
    if (!(bytes > 0 && parameters > 0)) return "Say how many bytes, and of how many parameters the network is.";
    const share = bytes / (2 * word * parameters);
    const said = `${bytes} bytes are 1/${Number((1 / share).toPrecision(3))} of those up and down. `;
    const alike = settings.filter((one) => one.case === asked.case && one.epsilon === asked.epsilon);
    if (!alike.length) return `${said}This privacy was not measured for clients like these.`;
    const apart = (one) => Math.abs(Math.log(one.d / parameters));
    const near = alike.reduce((one, other) => (apart(other) < apart(one) ? other : one));
    const fits = near.answers.filter((answer) => answer.share <= share * (1 + 1e-9));
    const where = `Measured on ${near.words}`;
    if (!fits.length) {
      const least = Number((1 / near.answers[0].share).toPrecision(3));
      return `${said}${where}; the least that was measured is 1/${least}.`;
    }
    const times = Number((parameters / near.d).toPrecision(3));
    const far = apart(near) > Math.log(sizes) ? ", so that the ratio of bytes is all that speaks" : "";
    const differs = times === 1 ? "" : `; yours has ${times} times as many parameters${far}`;
    return `${said}${where}${differs}: ${fits[fits.length - 1].text}`;
  };

  form.addEventListener("input", () => { place.innerHTML = reply(); });
  form.addEventListener("submit", (event) => event.preventDefault());
})();
